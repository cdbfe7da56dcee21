import type { Decision, Limiter } from '../contracts/limiter.js';
import { isObject } from '../validation/json.js';

type Check = readonly [expected: string, isValid: (value: unknown) => boolean];

const COUNT: Check = ['a whole number of at least 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0];
const DURATION: Check = [
  'a number of milliseconds, at least 0',
  (value) => Number.isFinite(value) && Number(value) >= 0,
];

const DECISION: Readonly<Record<string, Check>> = {
  allowed: ['true or false', (value) => typeof value === 'boolean'],
  limit: COUNT,
  remaining: COUNT,
  resetMs: DURATION,
  quotas: ['a list, if present', (value) => value === undefined || Array.isArray(value)],
};

const QUOTA: Readonly<Record<string, Check>> = {
  name: ['"day" or "month"', (value) => value === 'day' || value === 'month'],
  quota: COUNT,
  remaining: COUNT,
  resetMs: DURATION,
  lengthMs: DURATION,
};

const errorsOf = (value: unknown, checks: Readonly<Record<string, Check>>, at = ''): string[] => {
  if (!isObject(value)) return [`${at || 'it'} must be an object`];
  const members = value as Readonly<Record<string, unknown>>;
  return Object.entries(checks).flatMap(([name, [expected, isValid]]) =>
    isValid(members[name]) ? [] : [`"${at && `${at}.`}${name}" must be ${expected}`],
  );
};

const decisionErrors = (decision: unknown): string[] => {
  const errors = errorsOf(decision, DECISION);
  if (errors.length > 0) return errors;
  const { quotas = [] } = decision as Decision;
  return quotas.flatMap((quota, index) => errorsOf(quota, QUOTA, `quotas[${index}]`));
};

/** Returns a limiter that rejects invalid decisions of `limiter`, which comes from an embedding program. */
export const checkedLimiter = (limiter: Limiter): Limiter => {
  const check = (decision: Decision): Decision => {
    const errors = decisionErrors(decision);
    if (errors.length === 0) return decision;
    throw new Error(`take() of the limiter ${nameOf(limiter)} returned an invalid decision: ${errors.join('; ')}`);
  };
  return {
    take(caller, limit, quotas) {
      const decision = limiter.take(caller, limit, quotas);
      // A promise might come from another realm or library, so `instanceof` would not work.
      const isPromise = typeof (decision as Partial<Promise<Decision>> | undefined)?.then === 'function';
      return isPromise ? Promise.resolve(decision).then(check) : check(decision as Decision);
    },
    ...(limiter.usage && { usage: limiter.usage.bind(limiter) }),
    ...(limiter.check && { check: limiter.check.bind(limiter) }),
    health: () => limiter.health(),
    close: () => limiter.close(),
  };
};

const nameOf = (limiter: Limiter): string => {
  const { name } = limiter.constructor ?? {};
  return name && name !== 'Object' ? name : 'in "overrides.limiter"';
};
