/**
 * Shifts the system clock by CLOCK_SHIFT_MS. The monotonic clock stays the same, because setting a real system clock
 * does not change it either.
 */
const shift = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: [] | [number | string | Date]) {
    super(...((args.length === 0 ? [RealDate.now() + shift] : args) as [number]));
  }

  static override now(): number {
    return RealDate.now() + shift;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
