/** Least squares with few regressors and many rows, by normal equations; rows may have weights, coefficients penalties. */

/**
 * If what the regressors before leave of a regressor is below this share of its sum of squares, it is rounding error: the
 * regressor counts as collinear and gets the coefficient 0.
 */
const COLLINEAR = 1e-10;

export interface LeastSquares {
  /** Adds one observation. The array of regressors may be reused afterwards. */
  add(regressors: Float64Array, outcome: number, weight?: number): void;
  /** The sum of the weights so far. */
  readonly weight: number;
  /** The weighted variance of a regressor; right only where the first one is the constant 1. `NaN` without any row. */
  variance(regressor: number): number;
  /**
   * The coefficients that minimise the sum of weight * error^2 plus the sum of penalty * coefficient^2; undefined without
   * any row. A regressor that is a combination of those before it gets 0.
   */
  solve(penalties?: readonly number[]): Float64Array | undefined;
}

/** @param width number of regressors, an intercept included */
export const createLeastSquares = (width: number): LeastSquares => {
  /** X'WX, its lower triangle, row by row. */
  const products = new Float64Array(width * width);
  /** X'Wy. */
  const moments = new Float64Array(width);
  let totalWeight = 0;

  return {
    add(regressors, outcome, weight = 1) {
      totalWeight += weight;
      for (let i = 0; i < width; i++) {
        const x = weight * (regressors[i] as number);
        for (let j = 0; j <= i; j++) {
          products[i * width + j] = (products[i * width + j] as number) + x * (regressors[j] as number);
        }
        moments[i] = (moments[i] as number) + x * outcome;
      }
    },

    get weight() {
      return totalWeight;
    },

    variance(regressor) {
      const mean = (products[regressor * width] as number) / totalWeight;
      return (products[regressor * width + regressor] as number) / totalWeight - mean ** 2;
    },

    // Cholesky factorisation L L' = X'WX + P; then L z = X'Wy and L' b = z.
    solve(penalties = []) {
      if (totalWeight === 0) return undefined;
      const factor = new Float64Array(width * width);
      const solution = new Float64Array(width);
      for (let i = 0; i < width; i++) {
        for (let j = 0; j <= i; j++) {
          const product = (products[i * width + j] as number) + (i === j ? (penalties[i] ?? 0) : 0);
          let residual = product;
          for (let k = 0; k < j; k++) residual -= (factor[i * width + k] as number) * (factor[j * width + k] as number);
          const pivot = factor[j * width + j] as number;
          if (j < i) factor[i * width + j] = pivot === 0 ? 0 : residual / pivot;
          else factor[i * width + i] = residual > COLLINEAR * product ? Math.sqrt(residual) : 0;
        }
      }
      for (let i = 0; i < width; i++) {
        let residual = moments[i] as number;
        for (let k = 0; k < i; k++) residual -= (factor[i * width + k] as number) * (solution[k] as number);
        const pivot = factor[i * width + i] as number;
        solution[i] = pivot === 0 ? 0 : residual / pivot;
      }
      for (let i = width - 1; i >= 0; i--) {
        let residual = solution[i] as number;
        for (let k = i + 1; k < width; k++) residual -= (factor[k * width + i] as number) * (solution[k] as number);
        const pivot = factor[i * width + i] as number;
        solution[i] = pivot === 0 ? 0 : residual / pivot;
      }
      return solution;
    },
  };
};
