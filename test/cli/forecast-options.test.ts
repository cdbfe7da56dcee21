import { expect } from 'chai';
import { parseForecastArguments } from '../../cli/forecast-options.js';
import { OperatorError } from '../../core/errors.js';
import { defaultRules } from '../../plugins/metro/forecast/default-rules.js';
import { defaultForecastOptions } from '../../plugins/metro/forecast/model.js';
import { quarterIndex } from '../../plugins/metro/periods.js';

describe('parseForecastArguments(given)', () => {
  it('has a default for every option but the model, which depends on the dataset', () => {
    expect(parseForecastArguments({})).to.deep.equal({
      model: undefined,
      options: defaultForecastOptions,
      rules: defaultRules,
      span: { from: quarterIndex(2005, 4) },
    });
  });

  it('reads every option', () => {
    const given = {
      model: 'persistence',
      runs: '12',
      from: '2005Q4',
      to: '2024q4',
      minValues: '30',
      expandPoint: '3.5',
      expandLower: '-1',
      contractPoint: '.5',
      margin: '2',
      grades: '0.05, 0.1,0.2,0.4',
    };
    const { model, ...rest } = parseForecastArguments(given);
    expect(model?.name).to.equal('persistence');
    expect(rest).to.deep.equal({
      options: { minValues: 30 },
      rules: { expandPoint: 3.5, expandLower: -1, contractPoint: 0.5, margin: 2, grades: [0.05, 0.1, 0.2, 0.4] },
      span: { from: quarterIndex(2005, 4), to: quarterIndex(2024, 4), last: 12 },
    });
  });

  it('selects all quarters from 2005Q4 on, unless --runs is given, --from, or an earlier --to', () => {
    const from = quarterIndex(2005, 4);
    expect(parseForecastArguments({ to: '2009Q4' }).span).to.deep.equal({ from, to: quarterIndex(2009, 4) });
    expect(parseForecastArguments({ from: '1999Q1' }).span).to.deep.equal({ from: quarterIndex(1999, 1) });
    expect(parseForecastArguments({ to: '2004Q4' }).span).to.deep.equal({ to: quarterIndex(2004, 4) });
    expect(parseForecastArguments({ runs: '40' }).span).to.deep.equal({ last: 40 });
  });

  it('lists all errors together', () => {
    const given = {
      model: 'persistance',
      runs: '0',
      from: '2005',
      to: '2024Q5',
      minValues: 'many',
      expandPoint: '4%',
      contractPoint: '5',
      grades: '0.1,0.2',
    };
    expect(() => parseForecastArguments(given))
      .to.throw(OperatorError)
      .with.property('errors')
      .deep.equals([
        '--from: "2005" is not a quarter such as 2005Q4',
        '--to: "2024Q5" is not a quarter such as 2005Q4',
        '--runs: "0" is not a whole number of at least 1',
        '--grades: "0.1,0.2" is not four probabilities such as 0.10,0.20,0.35,0.50',
        '--expand-point: "4%" is not a number in percent such as 4 or -1.5',
        'expand from 4% and contract below 5% overlap: lower the second value',
        '--min-values: "many" is not a whole number of at least 1',
        'There is no forecast model "persistance". Did you mean "persistence"? Choose one of: metro-momentum, pooled-momentum, persistence, ar1-nation, shrunk-mean.',
      ]);
    expect(() => parseForecastArguments({ from: '2024Q1', to: '2005Q4' })).to.throw(
      '--from: 2024Q1 is after --to 2005Q4',
    );
  });
});
