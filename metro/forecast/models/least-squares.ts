/** Least squares with few regressors and many rows, by normal equations; rows may have weights, coefficients penalties. */

/** A pivot this small a share of its regressor's sum of squares is rounding, not information. */
const COLLINEAR = 1e-10;

export interface LeastSquares {
  /** Adds one observation. The regressors are read at once and not kept. */
  add(regressors: Float64Array, outcome: number, weight?: number): void;
  /** The sum of the weights so far. */
  readonly weight: number;
  /** The weighted variance of a regressor, where the first regressor is the intercept; `NaN` without any row. */
  variance(regressor: number): number;
  /**
   * The coefficients that minimise the weighted sum of squared errors plus, with penalties, that of each penalty times
   * its squared coefficient; undefined without any row. A regressor that those before it already determine gets 0.
   */
  solve(penalties?: readonly number[]): Float64Array | undefined;
}

/** @param width number of regressors, an intercept included */
export const createLeastSquares = (width: number): LeastSquares => {
  /** Lower triangle of X'X, row by row, and X'y. */
  const products = new Float64Array(width * width);
  const moments = new Float64Array(width);
  let weights = 0;

  return {
    add(regressors, outcome, weight = 1) {
      weights += weight;
      for (let i = 0; i < width; i++) {
        const x = weight * (regressors[i] as number);
        for (let j = 0; j <= i; j++) {
          products[i * width + j] = (products[i * width + j] as number) + x * (regressors[j] as number);
        }
        moments[i] = (moments[i] as number) + x * outcome;
      }
    },

    get weight() {
      return weights;
    },

    variance(regressor) {
      const mean = (products[regressor * width] as number) / weights;
      return (products[regressor * width + regressor] as number) / weights - mean ** 2;
    },

    // Cholesky factorisation L L' = X'WX + P; then L z = X'Wy and L' b = z.
    solve(penalties = []) {
      if (weights === 0) return undefined;
      const factor = new Float64Array(width * width);
      const solution = new Float64Array(width);
      for (let i = 0; i < width; i++) {
        for (let j = 0; j <= i; j++) {
          const product = (products[i * width + j] as number) + (i === j ? (penalties[i] ?? 0) : 0);
          let rest = product;
          for (let k = 0; k < j; k++) rest -= (factor[i * width + k] as number) * (factor[j * width + k] as number);
          const pivot = factor[j * width + j] as number;
          if (j < i) factor[i * width + j] = pivot === 0 ? 0 : rest / pivot;
          else factor[i * width + i] = rest > COLLINEAR * product ? Math.sqrt(rest) : 0;
        }
      }
      for (let i = 0; i < width; i++) {
        let rest = moments[i] as number;
        for (let k = 0; k < i; k++) rest -= (factor[i * width + k] as number) * (solution[k] as number);
        const pivot = factor[i * width + i] as number;
        solution[i] = pivot === 0 ? 0 : rest / pivot;
      }
      for (let i = width - 1; i >= 0; i--) {
        let rest = solution[i] as number;
        for (let k = i + 1; k < width; k++) rest -= (factor[k * width + i] as number) * (solution[k] as number);
        const pivot = factor[i * width + i] as number;
        solution[i] = pivot === 0 ? 0 : rest / pivot;
      }
      return solution;
    },
  };
};
