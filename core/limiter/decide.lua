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
-- Bounds the time that one call takes: 10 ms.
local MOST_SWEPT = 20000

local pack, unpackAt, sub, max, min = struct.pack, struct.unpack, string.sub, math.max, math.min
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local fields = { 'replica:' .. ARGV[1], '' }
for i = ASKS, #ARGV, 4 do
  fields[#fields + 1] = ARGV[i]
end
local values = redis.call('HMGET', shard, unpack(fields))

-- last >= number: this call comes late or twice. last < previous: this server has lost calls of the replica.
local last = values[1] and unpackAt('>I7', values[1], 8) or 0
if last >= number or last < previous then
  return { 0, last }
end

-- A request counts until the whole of its bucket has left the window. The moment at which a bucket ends belongs to it.
local function bucketEnd(moment, limit)
  return limit > exactUpTo and moment + -moment % bucketLength or moment
end

-- A window without the buckets that have left it: newest end, sum of counts, buckets, oldest end.
local function read(value)
  local newest, total = unpackAt('>I7I4', value)
  if newest + window <= now then
    return 0, 0, '', nil
  end
  local at = HEAD + 1
  local low, _, count = unpackAt('>I4I4I4', value, at)
  local oldest = newest - (newest - low) % WRAP
  while oldest + window <= now do
    total, at = total - count, at + BUCKET
    low, _, count = unpackAt('>I4I4I4', value, at)
    oldest = newest - (newest - low) % WRAP
  end
  return newest, total, sub(value, at), oldest
end

-- The window with what this replica tells, if it does, in place of its own buckets. No bucket ends after `latest`, also
-- none of other replicas. Returns what `read` does.
local function rewrite(newest, buckets, limit, told, latest)
  local list = {}
  for at = 1, #buckets, BUCKET do
    local low, owner, count = unpackAt('>I4I4I4', buckets, at)
    if not told or owner ~= replica then
      list[#list + 1] = { min(newest - (newest - low) % WRAP, latest), owner, count }
    end
  end
  for age, count in string.gmatch(told or '', '(%d+):(%d+)') do
    local ends, before = bucketEnd(now - age, limit), list[#list]
    if before and before[1] == ends and before[2] == replica then
      before[3] = before[3] + count
    elseif ends + window > now then
      list[#list + 1] = { ends, replica, tonumber(count) }
    end
  end
  if #list == 0 then
    return 0, 0, '', nil
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  local total, packed = 0, {}
  for i, bucket in ipairs(list) do
    total, packed[i] = total + bucket[3], pack('>I4I4I4', bucket[1] % WRAP, bucket[2], bucket[3])
  end
  return list[#list][1], total, table.concat(packed), list[1][1]
end

-- Takes slots that were not used out of this replica's buckets with the given ends, if these are there.
local function giveBack(total, buckets, unused)
  for ends, count in string.gmatch(unused, '(%d+):(%d+)') do
    for at = #buckets - BUCKET + 1, 1, -BUCKET do
      local low, owner, counted = unpackAt('>I4I4I4', buckets, at)
      if low == ends % WRAP and owner == replica then
        local left = max(0, counted - count)
        buckets = sub(buckets, 1, at + 7) .. pack('>I4', left) .. sub(buckets, at + BUCKET)
        total = total - counted + left
      end
    end
  end
  return total, buckets
end

-- Counts requests in this replica's bucket with the given end, which is the newest end or later.
local function add(newest, buckets, ends, admitted)
  local at = ends == newest and #buckets - BUCKET + 1 or 0
  while at > 0 do
    local low, owner, count = unpackAt('>I4I4I4', buckets, at)
    if low ~= ends % WRAP then
      break
    end
    if owner == replica then
      return sub(buckets, 1, at + 7) .. pack('>I4', count + admitted) .. sub(buckets, at + BUCKET)
    end
    at = at - BUCKET
  end
  return buckets .. pack('>I4I4I4', ends % WRAP, replica, admitted)
end

local reply, written = { 1, now }, { fields[1], pack('>I7I7', now, number) }
for i = 3, #fields do
  local arg = ASKS + 4 * (i - 3)
  local limit, asked, news = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), ARGV[arg + 3]
  local newest, total, buckets, oldest = 0, 0, '', nil
  if values[i] then
    newest, total, buckets, oldest = read(values[i])
  end
  local isSetBack = newest > now + bucketLength
  local told = sub(news, 1, 1) == '=' and news
  local isChanged = news ~= '' or isSetBack
  if told or isSetBack then
    -- A clock that was set back must not lengthen the window. Slots of other replicas may be used for a bucket's length
    -- still; otherwise no end changes, since other replicas may have slots until then.
    local latest = newest
    if isSetBack then
      latest = limit > exactUpTo and bucketEnd(now, limit) + bucketLength or now
    end
    newest, total, buckets, oldest = rewrite(newest, buckets, limit, told, latest)
  elseif isChanged then
    total, buckets = giveBack(total, buckets, news)
  end
  local admitted = max(0, min(asked, limit - total))
  if admitted > 0 then
    local ends = max(bucketEnd(now, limit), newest)
    buckets = add(newest, buckets, ends, admitted)
    newest, total, oldest, isChanged = ends, total + admitted, oldest or ends, true
  end
  if isChanged then
    written[#written + 1] = fields[i]
    written[#written + 1] = pack('>I7I4', newest, total) .. buckets
  end
  -- The next slot comes free with the oldest bucket; under a limit that was lowered, with the one that makes room.
  local at, left = 1, total
  while left >= max(limit, 1) do
    local low, _, count = unpackAt('>I4I4I4', buckets, at)
    oldest, left, at = newest - (newest - low) % WRAP, left - count, at + BUCKET
  end
  reply[#reply + 1] = admitted
  reply[#reply + 1] = max(0, limit - total)
  reply[#reply + 1] = oldest and oldest + window - now or 0
end

-- Once in a bucket's length some fields are looked through, all of them in half a window; those out of use are dropped.
local sweep = values[2]
local isDue = not sweep or math.abs(now - unpackAt('>I7', sweep)) >= bucketLength
if isDue then
  local share = math.ceil(redis.call('HLEN', shard) / 30)
  local scanned = redis.call('HSCAN', shard, sweep and sub(sweep, 8) or 0, 'COUNT', max(10, min(share, MOST_SWEPT)))
  for i = 1, #scanned[2], 2 do
    if unpackAt('>I7', scanned[2][i + 1]) + window + bucketLength <= now then
      redis.call('HDEL', shard, scanned[2][i])
    end
  end
  written[#written + 1], written[#written + 2] = '', pack('>I7', now) .. scanned[1]
end
redis.call('HMSET', shard, unpack(written))
if isDue then
  redis.call('PEXPIRE', shard, math.ceil(window / 500))
end
return reply
