/** Ordinary least squares with few regressors and many rows, by normal equations. */

/** A pivot this small a share of its regressor's sum of squares is rounding, not information. */
const COLLINEAR = 1e-10;

export interface LeastSquares {
  /** Adds one observation. The regressors are read at once and not kept. */
  add(regressors: Float64Array, outcome: number): void;
  /**
   * The coefficients that minimise the sum of squared errors, or undefined without any row. A regressor that
   * those before it already determine gets 0.
   */
  solve(): Float64Array | undefined;
}

/** @param width number of regressors, an intercept included */
export const createLeastSquares = (width: number): LeastSquares => {
  /** Lower triangle of X'X, row by row, and X'y. */
  const products = new Float64Array(width * width);
  const moments = new Float64Array(width);
  let rows = 0;

  return {
    add(regressors, outcome) {
      rows++;
      for (let i = 0; i < width; i++) {
        const x = regressors[i] as number;
        for (let j = 0; j <= i; j++) {
          products[i * width + j] = (products[i * width + j] as number) + x * (regressors[j] as number);
        }
        moments[i] = (moments[i] as number) + x * outcome;
      }
    },

    // Cholesky factorisation L L' = X'X; then L z = X'y and L' b = z.
    solve() {
      if (rows === 0) return undefined;
      const factor = new Float64Array(width * width);
      const solution = new Float64Array(width);
      for (let i = 0; i < width; i++) {
        for (let j = 0; j <= i; j++) {
          let rest = products[i * width + j] as number;
          for (let k = 0; k < j; k++) rest -= (factor[i * width + k] as number) * (factor[j * width + k] as number);
          const pivot = factor[j * width + j] as number;
          if (j < i) factor[i * width + j] = pivot === 0 ? 0 : rest / pivot;
          else factor[i * width + i] = rest > COLLINEAR * (products[i * width + i] as number) ? Math.sqrt(rest) : 0;
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
