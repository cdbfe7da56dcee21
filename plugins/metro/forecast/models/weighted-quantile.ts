/** Computes quantiles of weighted values. */

/**
 * Returns the smallest value that has at least the given share of the total weight at or below it, or `NaN` if there
 * are no values. Takes linear time on average (Hoare's quickselect, by weight). Reorders both arrays.
 */
export const weightedQuantile = (values: Float64Array, weights: Float64Array, share: number): number => {
  const swap = (array: Float64Array, i: number, j: number): void => {
    [array[i], array[j]] = [array[j] as number, array[i] as number];
  };
  let wanted = share * weights.reduce((sum, weight) => sum + weight, 0);
  let from = 0;
  let to = values.length;
  while (to - from > 1) {
    const pivot = values[(from + to) >> 1] as number;
    // Partitions into three parts (below, equal and above), so that the loop also ends if many values are equal.
    let below = from;
    let above = to;
    let weightBelow = 0;
    let weightEqual = 0;
    for (let i = from; i < above; ) {
      const value = values[i] as number;
      const weight = weights[i] as number;
      if (value > pivot) {
        above--;
        swap(values, i, above);
        swap(weights, i, above);
        continue;
      }
      if (value < pivot) {
        weightBelow += weight;
        swap(values, i, below);
        swap(weights, i, below);
        below++;
      } else weightEqual += weight;
      i++;
    }
    if (below > from && weightBelow >= wanted) to = below;
    else if (above === to || weightBelow + weightEqual >= wanted) return pivot;
    else {
      wanted -= weightBelow + weightEqual;
      from = above;
    }
  }
  return values[from] ?? Number.NaN;
};
