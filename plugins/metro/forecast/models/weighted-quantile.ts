/**
 * Returns the smallest value at which the cumulative weight reaches the given share of the total weight, or `NaN`
 * without values. Quickselect takes linear time on average and reorders both arrays.
 */
export const weightedQuantile = (values: Float64Array, weights: Float64Array, share: number): number => {
  const swap = (array: Float64Array, i: number, j: number): void => {
    [array[i], array[j]] = [array[j]!, array[i]!];
  };
  let wanted = share * weights.reduce((sum, weight) => sum + weight, 0);
  let from = 0;
  let to = values.length;
  while (to - from > 1) {
    const pivot = values[(from + to) >> 1]!;
    // Values equal to the pivot form a separate group. Without it, the loop would not end if all remaining values are
    // equal.
    let below = from;
    let above = to;
    let weightBelow = 0;
    let weightEqual = 0;
    for (let i = from; i < above; ) {
      const value = values[i]!;
      const weight = weights[i]!;
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
