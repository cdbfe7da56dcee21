/** The endpoint by which callers see what they have used; there where usage is counted. */

import { USAGE_PATH } from '../config/tiers.js';
import type { DayUsage } from '../contracts/limiter.js';
import { type CallerAccount, definePlugin, type Plugin, serviceRoute } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import { quotaStates, usedNow } from '../limiter/quotas.js';
import { packageVersion } from '../util/package.js';

const time = { type: ['string', 'null'], format: 'date-time' } as const;

const schema = {
  title: 'Usage',
  type: 'object',
  required: ['data', 'tier', 'limits'],
  additionalProperties: false,
  properties: {
    data: {
      type: 'array',
      description: 'The UTC days of this month and the one before on which the caller has sent anything, oldest first.',
      items: {
        type: 'object',
        required: ['date', 'requests', 'refused'],
        additionalProperties: false,
        properties: {
          date: { type: 'string', format: 'date' },
          requests: { type: 'integer', minimum: 0, description: 'Those that passed, without those to this endpoint.' },
          refused: { type: 'integer', minimum: 0, description: 'Those refused by a limit; told a second late.' },
        },
      },
    },
    tier: { type: 'string' },
    limits: {
      type: 'array',
      description: 'The limit a minute, and the quotas where there are any.',
      items: {
        type: 'object',
        required: ['name', 'limit', 'used', 'resets_at'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', enum: ['default', 'day', 'month'], description: 'As in the header `RateLimit`.' },
          limit: { type: 'integer', minimum: 1 },
          used: { type: ['integer', 'null'], minimum: 0, description: 'Null for `default`, which slides.' },
          resets_at: { ...time, description: 'The end of the UTC day or month.' },
        },
      },
    },
  },
} as const;

const limitsOf = ({ limit, quotas }: CallerAccount, days: readonly DayUsage[], now: number) => {
  const used = usedNow(days, now);
  return [
    { name: 'default' as const, limit, used: null, resets_at: null },
    ...quotaStates(quotas, used, now).map(({ name, quota, resetMs }) => ({
      name,
      limit: quota,
      used: used[name],
      resets_at: new Date(now + resetMs).toISOString(),
    })),
  ];
};

export const usagePlugin: Plugin = definePlugin({
  name: 'usage',
  version: packageVersion,
  description: 'What a caller has used.',
  routes: () => [
    serviceRoute({
      path: USAGE_PATH,
      operationId: 'getUsage',
      summary: "The caller's own usage",
      description:
        'Requests of each day by the key that is sent, with those of its predecessors and successors by rotation, ' +
        'and what its limits are. Days and months are those of UTC. Asking uses up no quota and is not part of the usage: ' +
        'this endpoint has a limit a minute of its own, as high as that of the key, which its headers tell of, and ' +
        'responds past a quota too.',
      response: {
        description: 'The usage, the tier and its limits.',
        schema,
        example: {
          data: [{ date: '2026-11-23', requests: 1200, refused: 3 }],
          tier: 'free',
          limits: [
            { name: 'default', limit: 60, used: null, resets_at: null },
            { name: 'day', limit: 5000, used: 1200, resets_at: '2026-11-24T00:00:00.000Z' },
          ],
        },
      },
      async handler(_input, { account, state }) {
        // A request of this process itself, or of a page, has no account.
        if (account === null) throw new ApiError(errors.missing_api_key);
        const days = await state.usage(account.id);
        return {
          data: days.map((day) => ({ ...day })),
          tier: account.tier,
          limits: limitsOf(account, days, state.now.getTime()),
        };
      },
    }),
  ],
});
