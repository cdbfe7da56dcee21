/** Calibrates predicted probabilities of a decline by isotonic regression on past forecasts. */

/** Consecutive predictions with the same share of declines. */
interface Block {
  /** Mean prediction. */
  readonly predicted: number;
  /** Share of declines. */
  readonly realized: number;
}

export interface DeclineCalibration {
  /** Adds forecasts whose outcome is known, in any order. */
  learn(outcomes: readonly { readonly predicted: number; readonly declined: boolean }[]): void;
  /**
   * The share of declines of past forecasts with this prediction. Interpolates linearly between the means of two blocks,
   * and returns the share of the nearest block outside all blocks. Without past forecasts, returns the prediction.
   */
  calibrated(predicted: number): number;
}

/**
 * Isotonic regression by pooling adjacent violators: the increasing function of the prediction with the least squared
 * distance to the outcomes. Source: Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under Order
 * Restrictions", 1972; for probabilities, Zadrozny and Elkan, "Transforming Classifier Scores into Accurate Multiclass
 * Probability Estimates", KDD 2002.
 */
export const createDeclineCalibration = (): DeclineCalibration => {
  const seen: { readonly predicted: number; readonly declined: boolean }[] = [];
  let blocks: readonly Block[] | undefined;

  return {
    learn(outcomes) {
      seen.push(...outcomes);
      blocks = undefined;
    },
    calibrated(predicted) {
      if (seen.length === 0) return predicted;
      blocks ??= pool(seen.sort((a, b) => a.predicted - b.predicted));
      const above = blocks.findIndex((block) => block.predicted >= predicted);
      const upper = blocks.at(above) as Block;
      const lower = above > 0 ? (blocks[above - 1] as Block) : upper;
      if (upper === lower || above === -1) return upper.realized;
      const share = (predicted - lower.predicted) / (upper.predicted - lower.predicted);
      return lower.realized + share * (upper.realized - lower.realized);
    },
  };
};

/** @param outcomes by ascending prediction */
const pool = (outcomes: readonly { readonly predicted: number; readonly declined: boolean }[]): Block[] => {
  const pooled: { from: number; to: number; predicted: number; declines: number; count: number }[] = [];
  for (const { predicted, declined } of outcomes) {
    let block = { from: predicted, to: predicted, predicted, declines: Number(declined), count: 1 };
    for (let last = pooled.at(-1); last; last = pooled.at(-1)) {
      // Pools equal predictions, and a share that does not exceed the previous one.
      if (last.to < block.from && last.declines / last.count < block.declines / block.count) break;
      pooled.pop();
      block = {
        from: last.from,
        to: block.to,
        predicted: last.predicted + block.predicted,
        declines: last.declines + block.declines,
        count: last.count + block.count,
      };
    }
    pooled.push(block);
  }
  return pooled.map(({ predicted, declines, count }) => ({ predicted: predicted / count, realized: declines / count }));
};
