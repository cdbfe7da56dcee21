-- Reads an entry, and makes the caller its builder if it is due and nobody else is. See lease.ts.
local key, token = KEYS[1], ARGV[1]
local ttl, lease, keep = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local value, builtAt, holder, heldUntil = unpack(redis.call('HMGET', key, 'value', 'built_at', 'holder', 'held_until'))
builtAt, heldUntil = tonumber(builtAt or 0), tonumber(heldUntil or 0)

-- Times in the future come from a clock that has been set back since: they count for nothing.
local fresh = value and builtAt <= now and now - builtAt < ttl
local held = heldUntil > now and heldUntil <= now + lease and holder ~= token
local mine = not fresh and not held
if mine then
  redis.call('HSET', key, 'holder', token, 'held_until', string.format('%.0f', now + lease))
  redis.call('PEXPIRE', key, keep)
end
return { mine and 1 or 0, value, math.max(0, now - builtAt) }
