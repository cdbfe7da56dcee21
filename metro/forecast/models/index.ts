/** The models that can be chosen by name. Add yours to the list. */
import { OperatorError } from '../../../core/errors.js';
import { nearest } from '../../../core/nearest.js';
import type { ForecastModel } from '../model.js';
import { persistence } from './persistence.js';
import { pooledMomentum } from './pooled-momentum.js';

export const models: readonly ForecastModel[] = [pooledMomentum, persistence];

export const defaultModel = pooledMomentum;

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
