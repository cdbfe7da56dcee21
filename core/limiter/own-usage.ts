/** One replica's side of a caller's usage. No input, output or clock. */
import type { Quotas } from '../contracts/limiter.js';
import type { UsageNews } from './decide-script.js';
import { leftOf, type Used, UsedDays, usedOn } from './usage.js';

/** What a replica may tell Redis later on: of yesterday and today. */
const TOLD_DAYS = 2;

/**
 * Redis counts the usage that it grants, under the number of a stream, which no other replica has, nor this one for the
 * caller before or after. Whenever Redis may have counted something else than this replica let pass, the replica's next
 * call tells the stream's numbers as they are, and the difference is put right. Refusals are counted here, and told.
 */
export class OwnUsage {
  /** The epoch of the shard in which Redis counted all of it, as that of a `Subject`. */
  epoch: number;
  readonly #days = new UsedDays(TOLD_DAYS);
  #hasRefusals = false;
  /** What Redis said last, and of which day. */
  #used: Used = { day: 0, month: 0 };
  #heardOn = 0;
  /** What passed without Redis since then, and on which day the last of it. */
  #alone = { day: 0, today: 0, all: 0 };

  constructor(
    readonly name: string,
    readonly stream: number,
    epoch: number,
  ) {
    this.epoch = epoch;
  }

  /** Counts what Redis has counted already. */
  pass(day: number, count: number): void {
    if (count > 0) this.#days.add(day, true, count);
  }

  refuse(day: number, count: number): void {
    if (count === 0) return;
    this.#days.add(day, false, count);
    this.#hasRefusals = true;
  }

  passAlone(day: number): void {
    this.#days.add(day, true);
    const { day: last, today, all } = this.#alone;
    this.#alone = { day, today: last === day ? today + 1 : 1, all: all + 1 };
  }

  /** Whether there are refusals that Redis was not told. */
  get hasRefusals(): boolean {
    return this.#hasRefusals;
  }

  /** @param all false: Redis has counted the requests as they are */
  tell(quotas: Quotas, all: boolean): UsageNews {
    const told = all || this.#hasRefusals ? this.#days.all : [];
    this.#hasRefusals = false;
    const days = told.map(({ day, requests, refused }) => ({ day, requests: all ? requests : undefined, refused }));
    return { stream: this.stream, quotas, days };
  }

  /** @param used what Redis said of the day, all of this replica's own included */
  hear(day: number, used: Used): void {
    this.#used = used;
    this.#heardOn = day;
    this.#alone = { day, today: 0, all: 0 };
  }

  /** What the caller has used on a day, as far as this replica knows. */
  used(day: number): Used {
    const heard = usedOn(day, this.#used, this.#heardOn);
    return { day: heard.day + this.#aloneOn(day), month: heard.month + this.#alone.all };
  }

  /** Whether another request may pass without Redis: of what was left when Redis was last heard, each replica has a share. */
  mayPassAlone({ perDay, perMonth }: Quotas, day: number, replicas: number): boolean {
    const heard = usedOn(day, this.#used, this.#heardOn);
    const ofDay = leftOf({ perDay, perMonth: null }, heard) / replicas;
    const ofMonth = leftOf({ perDay: null, perMonth }, heard) / replicas;
    return this.#aloneOn(day) + 1 <= ofDay && this.#alone.all + 1 <= ofMonth;
  }

  #aloneOn(day: number): number {
    return this.#alone.day === day ? this.#alone.today : 0;
  }
}
