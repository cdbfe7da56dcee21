-- Reads an entry; gives the caller the build lock if the entry is due and no other process has the lock. See redis-cache.ts.
local key, token = KEYS[1], ARGV[1]
local ttl, lock_ms, expire_ms = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local value, builtAt, holder, heldUntil = unpack(redis.call('HMGET', key, 'value', 'built_at', 'holder', 'held_until'))
builtAt, heldUntil = tonumber(builtAt or 0), tonumber(heldUntil or 0)

-- Times in the future come from a clock that has been set back since: they are ignored.
local fresh = value and builtAt <= now and now - builtAt < ttl
local held = heldUntil > now and heldUntil <= now + lock_ms and holder ~= token
local mine = not fresh and not held
if mine then
  redis.call('HSET', key, 'holder', token, 'held_until', string.format('%.0f', now + lock_ms))
  redis.call('PEXPIRE', key, expire_ms)
end
return { mine and 1 or 0, value, math.max(0, now - builtAt) }
