-- Stores the built value and ends the builder's lock, unless the builder was too slow and has lost the lock. See redis-cache.ts.
local key, token, keep, value = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]

if redis.call('HGET', key, 'holder') ~= token then
  return 0
end
redis.call('HDEL', key, 'holder', 'held_until')
if value then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  redis.call('HSET', key, 'value', value, 'built_at', string.format('%.0f', now))
  redis.call('PEXPIRE', key, keep)
end
return 1
