-- Releases the build lock of a shared cache entry, and stores the value if there is one.
-- Has no effect if the process has lost the lock.
-- KEYS[1] is the entry.
-- ARGV contains the token of the process, the lifetime of the entry in milliseconds and, optionally, the value.
local entry, token, expireMs, value = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

if redis.call('HGET', entry, 'holder') ~= token then
  return 0
end
redis.call('HDEL', entry, 'holder', 'held_until')
if value then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  redis.call('HSET', entry, 'value', value, 'built_at', string.format('%.0f', now))
  redis.call('PEXPIRE', entry, expireMs)
end
return 1
