import { nearest, OperatorError } from 'metro-forecast-api/plugin';
import { quarterOf } from '../../periods.js';
import type { ForecastModel } from '../model.js';
import type { Panel } from '../panel.js';
import { ar1Nation, persistence, shrunkMean } from './benchmarks.js';
import { metroMomentum } from './metro-momentum.js';
import { pooledMomentum } from './pooled-momentum.js';

export const models: readonly ForecastModel[] = [metroMomentum, pooledMomentum, persistence, ar1Nation, shrunkMean];

/** The fallback model needs only the index. Datasets that lack inputs of the default model use the fallback model. */
export const defaultModel = metroMomentum;
export const fallbackModel = pooledMomentum;

/** @throws OperatorError if there is no model with this name */
export const findModel = (name: string): ForecastModel => {
  const model = models.find((candidate) => candidate.name === name);
  if (model) return model;
  const names = models.map((candidate) => candidate.name);
  const guess = nearest(name, names);
  throw new OperatorError(
    `There is no forecast model "${name}".${guess ? ` Did you mean "${guess}"?` : ''} Choose one of: ${names.join(', ')}.`,
  );
};

const lackingInputs = ({ series, needsCentres }: ForecastModel, { macro, markets, firstQuarter, quarters }: Panel) => {
  const newest = firstQuarter + quarters.length - 1;
  const lacking = series.flatMap((id) => {
    const last = macro.get(id)?.at(-1);
    if (!last) return [`the series ${id}, which the dataset lacks`];
    return quarterOf(last.start) < newest - 1
      ? [
          `the series ${id} up to the quarter before the newest quarter of the index, but the series ends on ${last.end}`,
        ]
      : [];
  });
  if (needsCentres && !markets.some(({ centre }) => centre))
    lacking.push("the centres of the metros, but the Census Bureau lists none of the dataset's codes");
  return lacking;
};

export interface ChosenModel {
  readonly model: ForecastModel;
  /** Reason why the default model was not used, published in the notes of the run. */
  readonly substitution?: string;
}

/** @throws OperatorError if the dataset lacks inputs of the requested model */
export const chooseModel = (panel: Panel, asked?: ForecastModel): ChosenModel => {
  const lacking = lackingInputs(asked ?? defaultModel, panel);
  if (lacking.length === 0) return { model: asked ?? defaultModel };
  const needs = `${(asked ?? defaultModel).name} needs ${lacking.join(', and ')}`;
  if (asked) throw new OperatorError(`${needs}. Import it, or choose --model ${fallbackModel.name}.`);
  return { model: fallbackModel, substitution: `${needs}: ${fallbackModel.name} was used instead.` };
};
