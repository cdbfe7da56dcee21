/** The models that can be chosen by name. Add yours to the list. */
import { nearest, OperatorError } from 'metro-forecast-api/plugin';
import { quarterOf } from '../../periods.js';
import type { ForecastModel } from '../model.js';
import type { Panel } from '../panel.js';
import { ar1Nation, persistence, shrunkMean } from './benchmarks.js';
import { metroMomentum } from './metro-momentum.js';
import { pooledMomentum } from './pooled-momentum.js';

export const models: readonly ForecastModel[] = [metroMomentum, pooledMomentum, persistence, ar1Nation, shrunkMean];

/** The default where the dataset has its inputs, and the one that needs nothing but the index. */
export const defaultModel = metroMomentum;
export const fallbackModel = pooledMomentum;

/** @throws OperatorError naming the nearest model, and all of them */
export const findModel = (name: string): ForecastModel => {
  const model = models.find((candidate) => candidate.name === name);
  if (model) return model;
  const names = models.map((candidate) => candidate.name);
  const guess = nearest(name, names);
  throw new OperatorError(
    `There is no forecast model "${name}".${guess ? ` Did you mean "${guess}"?` : ''} Choose one of: ${names.join(', ')}.`,
  );
};

/** What a model reads that the panel lacks, as parts of a sentence; none where it can work. */
const lackingInputs = ({ series, needsCentres }: ForecastModel, { macro, markets, firstQuarter, quarters }: Panel) => {
  const newest = firstQuarter + quarters.length - 1;
  const lacking = series.flatMap((id) => {
    const last = macro.get(id)?.at(-1);
    if (!last) return [`the series ${id}, which the dataset lacks`];
    return quarterOf(last.start) < newest - 1
      ? [`the series ${id} up to the quarter before the newest of the index, and it ends with ${last.end}`]
      : [];
  });
  if (needsCentres && !markets.some(({ centre }) => centre))
    lacking.push("the metros' centres, and no code of the dataset is one of the Census's list");
  return lacking;
};

export interface ChosenModel {
  readonly model: ForecastModel;
  /** One sentence for the runs' notes where the default model could not be used. */
  readonly substitution?: string;
}

/**
 * The model that is asked for, or else the default one, or else the one that needs nothing but the index.
 * @throws OperatorError when the dataset lacks what the model that was asked for reads
 */
export const chooseModel = (panel: Panel, asked?: ForecastModel): ChosenModel => {
  const lacking = lackingInputs(asked ?? defaultModel, panel);
  if (lacking.length === 0) return { model: asked ?? defaultModel };
  const needs = `${(asked ?? defaultModel).name} needs ${lacking.join(', and ')}`;
  if (asked) throw new OperatorError(`${needs}. Import it, or choose --model ${fallbackModel.name}.`);
  return { model: fallbackModel, substitution: `${needs}: ${fallbackModel.name} was used instead.` };
};
