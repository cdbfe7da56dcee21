-- Decides the requests of one call. The arguments and the reply are named in decide-script.ts.
--
-- A shard is one hash. Every field begins with 7 bytes of time, in microseconds of this server's clock:
--   of a subject: the end of its newest bucket, the sum of its counts (4 bytes), and its buckets, oldest first: the end
--     (its lower 4 bytes), the replica that admitted them (4), and how many requests (4)
--   of a replica ('replica:<id>'): when its last call was applied, and the number of that call (7)
--   '': when fields were last looked through for old ones, and where that stopped

local shard, replica = KEYS[1], tonumber(ARGV[1])
local number, previous = tonumber(ARGV[2]), tonumber(ARGV[3])
local window, bucketLength, exactUpTo = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local ASKS = 7
local HEAD, BUCKET, WRAP = 11, 12, 4294967296
local MOST_SWEPT = 2000

local pack, unpackAt, sub, max, min = struct.pack, struct.unpack, string.sub, math.max, math.min
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local fields = { 'replica:' .. ARGV[1], '' }
for i = ASKS, #ARGV, 4 do
  fields[#fields + 1] = ARGV[i]
end
local values = redis.call('HMGET', shard, unpack(fields))

-- From `number` on: this call comes late or twice. Below `previous`: this server has lost calls of the replica.
local last = values[1] and unpackAt('>I7', values[1], 8) or 0
if last >= number or last < previous then
  return { 0, last }
end

-- A request counts until the whole of its bucket has left the window. A bucket's end belongs to it.
local function bucketEnd(moment, limit)
  return limit > exactUpTo and moment + -moment % bucketLength or moment
end
local lastsFor = -now % bucketLength

-- A window without the buckets that have left it. `ended` is the end of its oldest bucket, if there is one.
local function read(value)
  local newest, total = unpackAt('>I7I4', value)
  if newest + window <= now then
    return 0, 0, '', nil
  end
  local first = HEAD + 1
  local ended, _, count = unpackAt('>I4I4I4', value, first)
  ended = newest - (newest - ended) % WRAP
  while ended + window <= now do
    total, first = total - count, first + BUCKET
    ended, _, count = unpackAt('>I4I4I4', value, first)
    ended = newest - (newest - ended) % WRAP
  end
  return newest, total, sub(value, first), ended
end

-- The window with what this replica tells in place of its own buckets. None ends after `latest`.
local function rewrite(newest, buckets, limit, told, latest)
  local list = {}
  for at = 1, #buckets, BUCKET do
    local ended, owner, count = unpackAt('>I4I4I4', buckets, at)
    if told == '' or owner ~= replica then
      list[#list + 1] = { min(newest - (newest - ended) % WRAP, latest), owner, count }
    end
  end
  for age, count in string.gmatch(told, '(%d+):(%d+)') do
    local ended, last = bucketEnd(now - age, limit), list[#list]
    if last and last[1] == ended and last[2] == replica then
      last[3] = last[3] + count
    elseif ended + window > now then
      list[#list + 1] = { ended, replica, tonumber(count) }
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  local total, packed = 0, {}
  for i, bucket in ipairs(list) do
    total, packed[i] = total + bucket[3], pack('>I4I4I4', bucket[1] % WRAP, bucket[2], bucket[3])
  end
  if #list == 0 then
    return 0, 0, '', nil
  end
  return list[#list][1], total, table.concat(packed), list[1][1]
end

-- Counts requests in this replica's bucket with the given end, which is the newest end or later.
local function add(newest, buckets, ended, admitted)
  local at = ended == newest and #buckets - BUCKET + 1 or 0
  while at > 0 do
    local its, owner, count = unpackAt('>I4I4I4', buckets, at)
    if its ~= ended % WRAP then
      break
    end
    if owner == replica then
      return sub(buckets, 1, at + 7) .. pack('>I4', count + admitted) .. sub(buckets, at + BUCKET)
    end
    at = at - BUCKET
  end
  return buckets .. pack('>I4I4I4', ended % WRAP, replica, admitted)
end

local reply, written = { 1, lastsFor }, { fields[1], pack('>I7I7', now, number) }
for i = 3, #fields do
  local from = ASKS + 4 * (i - 3)
  local limit, asked, told = tonumber(ARGV[from + 1]), tonumber(ARGV[from + 2]), ARGV[from + 3]
  local newest, total, buckets, ended = 0, 0, '', nil
  if values[i] then
    newest, total, buckets, ended = read(values[i])
  end
  local isSetBack = newest > now + bucketLength
  if told ~= '' or isSetBack then
    -- A clock that was set back must not lengthen the window. Else no bucket ends earlier than it was counted: under a
    -- limit that was changed, another replica may have slots in it.
    local latest = isSetBack and bucketEnd(now, limit) or newest
    newest, total, buckets, ended = rewrite(newest, buckets, limit, told, latest)
  end
  local admitted = max(0, min(asked, limit - total))
  if admitted > 0 then
    local itsEnd = max(bucketEnd(now, limit), newest)
    buckets = add(newest, buckets, itsEnd, admitted)
    newest, total, ended = itsEnd, total + admitted, ended or itsEnd
  end
  if admitted > 0 or told ~= '' or isSetBack then
    written[#written + 1] = fields[i]
    written[#written + 1] = pack('>I7I4', newest, total) .. buckets
  end
  -- The next slot comes free with the oldest bucket; under a limit that was lowered, with the one that makes room.
  local at, left = 1, total
  while left >= max(limit, 1) do
    local its, _, count = unpackAt('>I4I4I4', buckets, at)
    ended, left, at = newest - (newest - its) % WRAP, left - count, at + BUCKET
  end
  reply[3 * i - 6], reply[3 * i - 5] = admitted, max(0, limit - total)
  reply[3 * i - 4] = ended and ended + window - now or 0
end

-- Now and then some fields are looked through, all of them within half a window; those that nobody uses are dropped.
local sweep = values[2]
if not sweep or math.abs(now - unpackAt('>I7', sweep)) >= bucketLength then
  local share = math.ceil(redis.call('HLEN', shard) / 30)
  local scanned = redis.call('HSCAN', shard, sweep and sub(sweep, 8) or 0, 'COUNT', max(10, min(share, MOST_SWEPT)))
  for i = 1, #scanned[2], 2 do
    if unpackAt('>I7', scanned[2][i + 1]) + window + bucketLength <= now then
      redis.call('HDEL', shard, scanned[2][i])
    end
  end
  written[#written + 1], written[#written + 2] = '', pack('>I7', now) .. scanned[1]
  redis.call('HMSET', shard, unpack(written))
  redis.call('PEXPIRE', shard, math.ceil(window / 500))
else
  redis.call('HMSET', shard, unpack(written))
end
return reply
