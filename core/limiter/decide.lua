-- Decides the requests of one call. decide-script.ts packs the call, reads the reply, and writes above this text the
-- constants in capitals and, where usage is counted, usage.lua.
--
-- A shard is one hash. Every value begins with 7 bytes of time, in microseconds of this server's clock. The fields are
--   <subject>: the end of its newest bucket, the sum of its counts (4 bytes), and its buckets, oldest first: the end (its
--     lower 4 bytes), the replica that admitted them (4), and how many requests (4)
--   'usage:<subject>': what usage.lua packs
--   'replica:<id>': when the replica's last call was applied, and the number of that call (7)
--   '': when fields were last looked through for old ones, and where that stopped
-- Addresses are in two hashes of their own, which bound their number, since one caller can have any number of them:
-- what is asked for is written to `young`. When that is full, or KEPT old, it is renamed to `old`, whose former content
-- is dropped: the addresses that have not been seen for the longest. A field of `young` is
--   '': when it was begun
--
-- Why a window never has more than the limit: a request passes only if `total` was below the limit, and is counted in
-- `total` from then on. It leaves `total` when the whole of its bucket is a window old, so never before it is itself.
-- docs/how-it-works.md has the whole proof, with what replicas tell and give back.

local shard, young, old = KEYS[1], KEYS[2], KEYS[3]
local HEAD, BUCKET, WRAP = 11, 12, 4294967296
-- Twice as long as the fields of a hash are of use.
local TIME_TO_LIVE_MS = math.ceil(2 * KEPT / 1000)
-- One sweep looks at no more fields than this, which take Redis about 10 ms.
local MOST_SWEPT = 20000

local pack, unpackAt, sub, max, min = struct.pack, struct.unpack, string.sub, math.max, math.min
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local call = cjson.decode(ARGV[1])
-- fields[i], from 3 on, is the subject of an ask: numbers[2 * i - 2] is its limit, the number after that how many requests
-- it asks for, news[i - 2] its usage.
local fields, numbers, news = call[1], call[2], call[4]
local replica, number, previous = numbers[1], numbers[2], numbers[3]
local told, unused = {}, {}
for _, each in ipairs(call[3]) do
  local i, isTold, entries = each[1], each[2], each[3]
  if isTold then told[i] = entries else unused[i] = entries end
end
local last = #fields
-- usageField[i] is where the usage of the subject fields[i] stands in `fields`.
local usageField = {}
for at, each in ipairs(news) do
  if each then
    fields[#fields + 1] = 'usage:' .. fields[at + 2]
    usageField[at + 2] = #fields
  end
end
local values = redis.call('HMGET', shard, unpack(fields))

-- applied >= number: this call comes late or twice. applied < previous: this server has lost calls of the replica.
local applied = values[1] and unpackAt('>I7', values[1], 8) or 0
if applied >= number or applied < previous then
  return pack('>Bd', 0, applied)
end

local written = { fields[1], pack('>I7I7', now, number) }
-- into[i] is the list of what is written with field i, where that is not `written`; isMoved[i] is its value where only
-- the old hash has it, so that it has to be copied to the young one.
local into, isMoved = {}, {}
local writtenAddresses, begun
if young then
  local addresses = {}
  for i = 3, #fields do
    if sub(fields[i], 1, 3) == 'ip:' or sub(fields[i], 1, 9) == 'usage:ip:' then
      addresses[#addresses + 1] = fields[i]
    end
  end
  local inYoung, inOld = redis.call('HMGET', young, '', unpack(addresses)), redis.call('HMGET', old, unpack(addresses))
  begun = inYoung[1] and min(unpackAt('>I7', inYoung[1]), now)
  if begun and (begun + KEPT <= now or redis.call('HLEN', young) > MOST_ADDRESSES) then
    redis.call('UNLINK', old)
    redis.call('RENAME', young, old)
    begun = false
  end
  writtenAddresses = { '', pack('>I7', begun or now) }
  local at = 1
  for i = 3, #fields do
    if fields[i] == addresses[at] then
      values[i], isMoved[i], into[i] = inYoung[at + 1] or inOld[at], not inYoung[at + 1] and inOld[at], writtenAddresses
      at = at + 1
    end
  end
end

-- The moment at which a bucket ends belongs to it.
local function bucketEnd(moment)
  return moment + -moment % BUCKET_LENGTH
end
local thisEnd = bucketEnd(now)
-- No slot ahead can be used for longer than a bucket's length from now, so a bucket that ends later than this is of a
-- clock that was set back.
local latestEnd = thisEnd + BUCKET_LENGTH

-- A window without the buckets that have left it: newest end, sum of counts, buckets, oldest end.
local function read(value)
  if not value then
    return 0, 0, '', nil
  end
  local newest, total = unpackAt('>I7I4', value)
  if newest + WINDOW <= now then
    return 0, 0, '', nil
  end
  local at = HEAD + 1
  local low, _, count = unpackAt('>I4I4I4', value, at)
  local oldest = newest - (newest - low) % WRAP
  while oldest + WINDOW <= now do
    total, at = total - count, at + BUCKET
    low, _, count = unpackAt('>I4I4I4', value, at)
    oldest = newest - (newest - low) % WRAP
  end
  return newest, total, sub(value, at), oldest
end

-- Replaces this replica's buckets by what it tells, if anything, and moves the end of every other bucket that is after
-- `latest` to `latest`. Returns what `read` does.
local function rewrite(newest, buckets, tells, latest)
  local list = {}
  for at = 1, #buckets, BUCKET do
    local low, owner, count = unpackAt('>I4I4I4', buckets, at)
    if not tells or owner ~= replica then
      list[#list + 1] = { min(newest - (newest - low) % WRAP, latest), owner, count }
    end
  end
  for _, each in ipairs(tells or {}) do
    local ends, before = bucketEnd(now - each[1]), list[#list]
    if before and before[1] == ends and before[2] == replica then
      before[3] = before[3] + each[2]
    elseif ends + WINDOW > now then
      list[#list + 1] = { ends, replica, each[2] }
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
local function giveBack(total, buckets, slots)
  for _, each in ipairs(slots) do
    local ends, left = each[1], each[2]
    for at = #buckets - BUCKET + 1, 1, -BUCKET do
      local low, owner, counted = unpackAt('>I4I4I4', buckets, at)
      if left > 0 and low == ends % WRAP and owner == replica then
        local taken = min(counted, left)
        buckets = sub(buckets, 1, at + 7) .. pack('>I4', counted - taken) .. sub(buckets, at + BUCKET)
        total, left = total - taken, left - taken
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

local openUsage, closeUsage
if COUNTS_USAGE then
  openUsage, closeUsage = usageAt(now, bucketEnd)
end
local reply = { pack('>Bd', 1, now) }
for i = 3, last do
  local limit, asked = numbers[2 * i - 2], numbers[2 * i - 1]
  local newest, total, buckets, oldest = read(values[i])
  local isSetBack = newest > latestEnd
  local isChanged = told[i] or unused[i] or isSetBack
  if told[i] or isSetBack then
    -- Where the clock was set back, later ends are moved to the latest one that slots ahead need, so that the window does
    -- not last longer.
    newest, total, buckets, oldest = rewrite(newest, buckets, told[i], isSetBack and latestEnd or newest)
  elseif unused[i] then
    total, buckets = giveBack(total, buckets, unused[i])
  end
  local usage = usageField[i] and openUsage(values[usageField[i]], news[i - 2], unused[i] or {})
  local admitted = max(0, min(asked, limit - total, usage and usage.left or asked))
  if admitted > 0 then
    local ends = max(thisEnd, newest)
    buckets = add(newest, buckets, ends, admitted)
    newest, total, oldest, isChanged = ends, total + admitted, oldest or ends, true
  end
  local list = into[i] or written
  if isChanged or isMoved[i] then
    list[#list + 1] = fields[i]
    list[#list + 1] = isChanged and pack('>I7I4', newest, total) .. buckets or values[i]
  end
  -- The wait ends when the oldest bucket leaves or, where more than the limit is counted, the one that makes room.
  local at, left = 1, total
  while left >= max(limit, 1) do
    local low, _, count = unpackAt('>I4I4I4', buckets, at)
    oldest, left, at = newest - (newest - low) % WRAP, left - count, at + BUCKET
  end
  reply[#reply + 1] = pack('>ddd', admitted, max(0, limit - total), oldest and oldest + WINDOW - now or 0)
  if usage then
    local field = usageField[i]
    local packed = closeUsage(usage, admitted) or isMoved[field]
    if packed then
      list[#list + 1], list[#list + 2] = fields[field], packed
    end
    reply[#reply + 1] = pack('>dd', usage.day, usage.month)
  end
end

-- Once in a bucket's length some fields are looked through, all of them in half a window; those out of use are dropped.
local sweep = values[2]
local isDue = not sweep or math.abs(now - unpackAt('>I7', sweep)) >= BUCKET_LENGTH
if isDue then
  local share = math.ceil(redis.call('HLEN', shard) / 30)
  local scanned = redis.call('HSCAN', shard, sweep and sub(sweep, 8) or 0, 'COUNT', max(10, min(share, MOST_SWEPT)))
  for i = 1, #scanned[2], 2 do
    -- The record of a replica's last call is kept for longer than the replica names that call as `previous`: a window and
    -- a bucket, or two days where usage is counted (`Shard.countedMs`).
    local field, span = scanned[2][i], WINDOW + BUCKET_LENGTH
    if sub(field, 1, 8) == 'replica:' then
      span = COUNTS_USAGE and 3 * DAY or 2 * WINDOW
    elseif sub(field, 1, 6) == 'usage:' then
      span = KEPT
    end
    if unpackAt('>I7', scanned[2][i + 1]) + span <= now then
      redis.call('HDEL', shard, field)
    end
  end
  written[#written + 1], written[#written + 2] = '', pack('>I7', now) .. scanned[1]
end
redis.call('HMSET', shard, unpack(written))
if young then
  redis.call('HMSET', young, unpack(writtenAddresses))
  if not begun then
    redis.call('PEXPIRE', young, TIME_TO_LIVE_MS)
  end
end
if isDue then
  redis.call('PEXPIRE', shard, TIME_TO_LIVE_MS)
end
return table.concat(reply)
