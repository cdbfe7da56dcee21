-- Decides one call to the rate limiter: a batch of callers from one replica.
-- README.md explains the protocol and proves that no limit is exceeded.
-- script.ts inserts the constants (in capitals), window.lua and, if usage is counted, quotas.lua before this file.
--
-- KEYS[1] is the hash of the partition.
-- KEYS[2] and KEYS[3] are hashes of recent and earlier addresses. They are omitted if the call contains no addresses.
-- The field `<caller>` of a hash contains the window of the caller (see window.lua).
-- The field `usage:<caller>` contains the usage of the caller (see quotas.lua).
-- The field `replica:<id>` contains the time and the number of the last applied call from the replica (7 bytes each).
-- The field '' of the partition contains the time (7 bytes) and the cursor of the last sweep.
-- The field '' of the recent addresses contains the creation time of the hash.
-- A client can have any number of addresses, so the number of stored addresses is limited.
-- New addresses are written to `recent`. When `recent` is full or older than KEPT, it replaces `earlier`.
--
-- ARGV[1] is a JSON object. Lists have one entry per caller, and are omitted if all their entries are false.
-- `replica` is the id of the replica, and `number` is the number of this call.
-- `previous` is the number of an earlier call, which Redis must have applied.
-- `fields` contains the names of the callers, then 'replica:<id>' and ''.
-- `limits` contains the limit of each caller, and `permits` the number of permits requested.
-- `resyncs` contains, for each caller, a list of { age, count } with all permits used within the window.
-- `returns` contains, for each caller, a list of { bucketEnd, count } with unused prefetched permits.
-- `counters` contains, for each caller, { id, perDay, perMonth } with the id of its usage counter and its quotas.
-- `usageDays` contains, for each caller, a list of { day, requests, refused } with new values of the counter.
--
-- The reply is one byte, then doubles, which the client decodes faster than a list of integers.
-- If the call was rejected, the reply contains 0 and the number of the last applied call from the replica.
-- Otherwise, the reply contains 1, the time, and three numbers for each caller.
-- The three numbers are the granted permits, the remaining permits, and the time until the next permit is free.
-- If the caller has a usage counter, the usage of this day and this month follows.

local partition, recent, earlier = KEYS[1], KEYS[2], KEYS[3]
-- Redis deletes a hash this many milliseconds after its last sweep.
-- Fields are needed for only half of this time, so a hash in use never expires.
local TIME_TO_LIVE_MS = math.ceil(2 * KEPT / 1000)
-- A sweep reads at most this many fields, which takes about 10 ms.
local MOST_SWEPT = 20000

local call = cjson.decode(ARGV[1])
local replica, fields, limits, counters = call.replica, call.fields, call.limits, call.counters
local callers = #limits
local replicaAt, sweepAt = callers + 1, callers + 2

local usageAt = counters and {}
for i = 1, counters and callers or 0 do
  if counters[i] then
    fields[#fields + 1] = 'usage:' .. fields[i]
    usageAt[i] = #fields
  end
end
local values = redis.call('HMGET', partition, unpack(fields))

-- Rejects the call if it arrived late or twice, or if this Redis server has lost earlier calls.
local applied = values[replicaAt] and unpackAt('>I7', values[replicaAt], 8) or 0
if applied >= call.number or applied < call.previous then
  return pack('>Bd', 0, applied)
end

-- `written` contains the arguments of HMSET.
-- `addresses[i]` is true if field i belongs to an address.
-- `moved[i]` is the value of field i if that value must be copied from `earlier` to `recent`.
local written, writtenAddresses = { fields[replicaAt], pack('>I7I7', now, call.number) }, nil
local addresses, moved, createdAt
if recent then
  addresses, moved = {}, {}
  local names, at = {}, {}
  for i = 1, #fields do
    if sub(fields[i], 1, 3) == 'ip:' or sub(fields[i], 1, 9) == 'usage:ip:' then
      names[#names + 1], at[#at + 1] = fields[i], i
    end
  end
  local inRecent = redis.call('HMGET', recent, '', unpack(names))
  local inEarlier = redis.call('HMGET', earlier, unpack(names))
  createdAt = inRecent[1] and min(unpackAt('>I7', inRecent[1]), now)
  if createdAt and (createdAt + KEPT <= now or redis.call('HLEN', recent) > MOST_ADDRESSES) then
    redis.call('UNLINK', earlier)
    redis.call('RENAME', recent, earlier)
    createdAt = nil
  end
  writtenAddresses = { '', pack('>I7', createdAt or now) }
  for n, i in ipairs(at) do
    local value = inRecent[n + 1]
    values[i], addresses[i], moved[i] = value or inEarlier[n], true, not value and inEarlier[n]
  end
end

-- The latest time at which a bucket can end, because prefetched permits are used within one bucket length.
-- A bucket with a later end was written before the clock of Redis was set back.
local latestEnd = thisEnd + BUCKET
local asked, resyncs, returns, usageDays = call.permits, call.resyncs, call.returns, call.usageDays
local reply, size = { now }, 1

-- The permits in a window never exceed the limit, because a permit is granted only if `total` is below the limit.
-- A granted permit counts towards `total` until one window after the end of its bucket.
for i = 1, callers do
  local limit, permits, resync, returned = limits[i], asked[i], resyncs and resyncs[i], returns and returns[i]
  readWindow(values[i])
  local newest = window.newest
  local isSetBack = newest > latestEnd
  if resync or isSetBack then
    rewriteWindow(replica, resync, isSetBack and latestEnd or newest)
    newest = window.newest
  elseif returned then
    returnPermits(replica, returned)
  end
  local usage
  if counters and counters[i] then
    usage = openUsage(values[usageAt[i]], counters[i], usageDays and usageDays[i], returned)
  end

  -- Comparisons are faster than calls to min and max.
  local total = window.total
  local free = limit - total
  if usage and usage.left < free then
    free = usage.left
  end
  if permits > free then
    permits = free > 0 and free or 0
  end
  local ends, value = newest > thisEnd and newest or thisEnd, moved and moved[i]
  if permits > 0 then
    value = packWithGranted(replica, ends, permits)
    total = window.total
  elseif resync or returned or isSetBack then
    value = sub(window.bytes, 1, window.length) .. pack('>I7I4', newest, window.total)
  end
  local list = addresses and addresses[i] and writtenAddresses or written
  if value then
    local length = #list
    list[length + 1], list[length + 2] = fields[i], value
  end

  local blocking = total < limit and window.oldest or blockingEnd(limit, ends)
  reply[size + 1], reply[size + 2] = permits, limit > total and limit - total or 0
  reply[size + 3] = blocking and blocking + WINDOW - now or 0
  size = size + 3
  if usage then
    local packed = closeUsage(usage, permits) or moved and moved[usageAt[i]]
    if packed then
      list[#list + 1], list[#list + 2] = fields[usageAt[i]], packed
    end
    reply[size + 1], reply[size + 2] = usage.today, usage.month
    size = size + 2
  end
end

-- Once per bucket, a sweep deletes fields that are no longer in use.
-- Each sweep reads about 1/30 of the fields, so all fields are usually read within half a window.
local swept = values[sweepAt]
local isSweepDue = not swept or math.abs(now - unpackAt('>I7', swept)) >= BUCKET
if isSweepDue then
  local part = math.ceil(redis.call('HLEN', partition) / 30)
  local from = swept and sub(swept, 8) or 0
  local scanned = redis.call('HSCAN', partition, from, 'COUNT', math.max(10, min(part, MOST_SWEPT)))
  for i = 1, #scanned[2], 2 do
    local field, value = scanned[2][i], scanned[2][i + 1]
    local at, span = 1, KEPT
    if sub(field, 1, 8) == 'replica:' then
      -- A replica can send the number of this call as `previous` for one window and one bucket.
      -- If usage is counted, the replica can send this number for two days.
      span = COUNTS_USAGE and 3 * DAY or 2 * WINDOW
    elseif field ~= '' and sub(field, 1, 6) ~= 'usage:' then
      at, span = #value - TAIL_BYTES + 1, WINDOW + BUCKET
    end
    if unpackAt('>I7', value, at) + span <= now then
      redis.call('HDEL', partition, field)
    end
  end
  written[#written + 1], written[#written + 2] = '', pack('>I7', now) .. scanned[1]
end

redis.call('HMSET', partition, unpack(written))
if isSweepDue then
  redis.call('PEXPIRE', partition, TIME_TO_LIVE_MS)
end
if recent then
  redis.call('HMSET', recent, unpack(writtenAddresses))
  if not createdAt then
    redis.call('PEXPIRE', recent, TIME_TO_LIVE_MS)
  end
end
return pack('>B' .. string.rep('d', size), 1, unpack(reply))
