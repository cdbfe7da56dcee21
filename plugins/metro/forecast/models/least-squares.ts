/** Solves least-squares problems with few regressors and many rows, using the normal equations. */

/**
 * Tolerance for collinearity: if previous regressors explain all but 1e-10 of the sum of squares of a regressor, the
 * rest is rounding error and the coefficient is 0.
 */
const COLLINEAR = 1e-10;

interface LeastSquares {
  /** The caller can reuse the array `regressors`. */
  add(regressors: Float64Array, outcome: number, weight?: number): void;
  readonly weight: number;
  /**
   * Returns the weighted variance of a regressor, or `NaN` without rows. The first regressor must be the constant 1.
   */
  variance(regressor: number): number;
  /**
   * Returns the coefficients that minimise the sum of weight * error^2 plus the sum of penalty * coefficient^2, or
   * undefined without rows. A regressor that is a linear combination of previous regressors gets the coefficient 0.
   */
  solve(penalties?: readonly number[]): Float64Array | undefined;
}

export const createLeastSquares = (width: number): LeastSquares => {
  /** The lower triangle of X'WX, row by row. */
  const products = new Float64Array(width * width);
  /** The vector X'Wy. */
  const moments = new Float64Array(width);
  let totalWeight = 0;

  return {
    add(regressors, outcome, weight = 1) {
      totalWeight += weight;
      for (let i = 0; i < width; i++) {
        const x = weight * regressors[i]!;
        for (let j = 0; j <= i; j++) {
          products[i * width + j]! += x * regressors[j]!;
        }
        moments[i]! += x * outcome;
      }
    },

    get weight() {
      return totalWeight;
    },

    variance(regressor) {
      const mean = products[regressor * width]! / totalWeight;
      return products[regressor * width + regressor]! / totalWeight - mean ** 2;
    },

    // Cholesky factorisation L L' = X'WX + P, then L z = X'Wy and L' b = z.
    solve(penalties = []) {
      if (totalWeight === 0) return undefined;
      const factor = new Float64Array(width * width);
      const solution = new Float64Array(width);
      for (let i = 0; i < width; i++) {
        for (let j = 0; j <= i; j++) {
          const product = products[i * width + j]! + (i === j ? (penalties[i] ?? 0) : 0);
          let residual = product;
          for (let k = 0; k < j; k++) residual -= factor[i * width + k]! * factor[j * width + k]!;
          const pivot = factor[j * width + j]!;
          if (j < i) factor[i * width + j] = pivot === 0 ? 0 : residual / pivot;
          else factor[i * width + i] = residual > COLLINEAR * product ? Math.sqrt(residual) : 0;
        }
      }
      for (let i = 0; i < width; i++) {
        let residual = moments[i]!;
        for (let k = 0; k < i; k++) residual -= factor[i * width + k]! * solution[k]!;
        const pivot = factor[i * width + i]!;
        solution[i] = pivot === 0 ? 0 : residual / pivot;
      }
      for (let i = width - 1; i >= 0; i--) {
        let residual = solution[i]!;
        for (let k = i + 1; k < width; k++) residual -= factor[k * width + i]! * solution[k]!;
        const pivot = factor[i * width + i]!;
        solution[i] = pivot === 0 ? 0 : residual / pivot;
      }
      return solution;
    },
  };
};
