/** `GET /usage` shows callers their own usage. The endpoint exists only if usage is counted. */
import { USAGE_PATH } from '../config/tiers.js';
import type { DayUsage } from '../contracts/limiter.js';
import { type CallerAccount, definePlugin, type Plugin, serviceRoute } from '../contracts/plugin.js';
import { ApiError, errors } from '../errors.js';
import { packageVersion } from '../util/package.js';
import { quotaStates, usedNow } from './quotas.js';

const time = { type: ['string', 'null'], format: 'date-time' } as const;

const schema = {
  title: 'Usage',
  type: 'object',
  required: ['data', 'tier', 'limits'],
  additionalProperties: false,
  properties: {
    data: {
      type: 'array',
      description: 'The UTC days with requests in this month and the previous one, oldest first.',
      items: {
        type: 'object',
        required: ['date', 'requests', 'refused'],
        additionalProperties: false,
        properties: {
          date: { type: 'string', format: 'date' },
          requests: {
            type: 'integer',
            minimum: 0,
            description: 'Allowed requests, not counting requests to this endpoint.',
          },
          refused: {
            type: 'integer',
            minimum: 0,
            description: 'Requests rejected by a limit or quota. The count is about one second behind.',
          },
        },
      },
    },
    tier: { type: 'string' },
    limits: {
      type: 'array',
      description: 'The limit per minute and any quotas.',
      items: {
        type: 'object',
        required: ['name', 'limit', 'used', 'resets_at'],
        additionalProperties: false,
        properties: {
          name: { type: 'string', enum: ['default', 'day', 'month'], description: 'Name in the header `RateLimit`.' },
          limit: { type: 'integer', minimum: 1 },
          used: {
            type: ['integer', 'null'],
            minimum: 0,
            description: 'Null for `default`, because its window slides.',
          },
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
  description: 'Shows callers their own usage.',
  routes: () => [
    serviceRoute({
      path: USAGE_PATH,
      operationId: 'getUsage',
      summary: "The caller's own usage",
      description:
        'Shows the requests per day and the limits of the API key. Keys that are linked by rotation share their usage. ' +
        'Days and months are in UTC. Requests to this endpoint are not counted. They have a separate limit, equal to the ' +
        'limit per minute of the key and reported in the response headers. The endpoint also works after a quota is used up.',
      response: {
        description: "The caller's usage, tier and limits.",
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
        // `account` is null for requests from this process or its pages. Their usage is not counted.
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
