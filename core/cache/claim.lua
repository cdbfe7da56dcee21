-- Reads a shared cache entry.
-- If the value is missing or stale, also acquires or renews the build lock.
-- KEYS[1] is the entry.
-- ARGV contains the token of the process, and the lifetimes of the value, the lock and the entry in milliseconds.
-- The reply contains a number, the value or false, and the age of the value in milliseconds.
-- The number is 1 if the process holds the lock, and otherwise 0.
local entry = KEYS[1]
local token, ttl, lockMs, expireMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local value, builtAt, holder, heldUntil = unpack(redis.call('HMGET', entry, 'value', 'built_at', 'holder', 'held_until'))
builtAt, heldUntil = tonumber(builtAt or 0), tonumber(heldUntil or 0)

-- If the clock was set back, stored times can be in the future. Values and locks with such times count as expired.
local isFresh = value and builtAt <= now and now - builtAt < ttl
local isLocked = heldUntil > now and heldUntil <= now + lockMs and holder ~= token
local mine = not isFresh and not isLocked
if mine then
  redis.call('HSET', entry, 'holder', token, 'held_until', string.format('%.0f', now + lockMs))
  redis.call('PEXPIRE', entry, expireMs)
end
return { mine and 1 or 0, value, math.max(0, now - builtAt) }
