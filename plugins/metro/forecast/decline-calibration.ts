/** Makes predicted probabilities of a decline say what came true: isotonic regression on past forecasts. */

/** A run of predictions with one share of declines. */
interface Block {
  /** Mean prediction. */
  readonly predicted: number;
  /** Share of declines. */
  readonly realized: number;
}

export interface DeclineCalibration {
  /** Takes forecasts whose outcome has become known, in any order. */
  learn(outcomes: readonly { readonly predicted: number; readonly declined: boolean }[]): void;
  /**
   * The share of declines of past forecasts with this prediction: between the means of two blocks by linear interpolation,
   * outside of all blocks that of the nearest one. The prediction itself while nothing has been learnt.
   */
  calibrated(predicted: number): number;
}

/**
 * Isotonic regression by pooling adjacent violators: the increasing function of the prediction that is nearest to what
 * came true, in least squares. Source: Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under Order
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
      // Equal predictions are one, and a share that does not exceed the one before it is pooled with it.
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
