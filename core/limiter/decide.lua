-- Decides the requests of one call. decide-script.ts packs the call, reads the reply, and writes above this text the
-- constants in capitals and, where usage is counted, usage.lua.
--
-- A shard is one hash. Times have 7 bytes, in microseconds of this server's clock. The fields are
--   <subject>: its buckets, newest first: the bucket's number (1 byte: its end in lengths of a bucket, modulo 256, which
--     tells those of a window apart), the replica that admitted requests in it (4), and how many (4); then the end of the
--     newest bucket, and the sum of the counts (4)
--   'usage:<subject>': what usage.lua packs, which begins with a time
--   'replica:<id>': when the replica's last call was applied, and the number of that call (7)
--   '': when fields were last looked through for old ones, and where that stopped
-- Redis's Lua hashes every byte of each string that a script creates, which is most of the work for a busy caller. So a
-- window is packed into few bytes, and its buckets are copied once for each decision (`add`).
-- Addresses are in two hashes of their own, which bound their number, since one caller can have any number of them:
-- what is asked for is written to `young`. When that is full, or KEPT old, it is renamed to `old`, whose former content
-- is dropped: the addresses that have not been seen for the longest. A field of `young` is
--   '': when it was begun
--
-- Why a window never has more than the limit: a request passes only if `total` was below the limit, and is counted in
-- `total` from then on. It leaves `total` when the whole of its bucket is a window old, so never before it is itself.
-- docs/how-it-works.md has the whole proof, with what replicas tell and give back.

local shard, young, old = KEYS[1], KEYS[2], KEYS[3]
local BUCKET, TAIL, NUMBERS = 9, 11, 256
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

local function numberOf(ends)
  return ends / BUCKET_LENGTH % NUMBERS
end

-- The end of the bucket with this number, in a window with this newest end.
local function endOf(number, newest)
  return newest - (newest / BUCKET_LENGTH - number) % NUMBERS * BUCKET_LENGTH
end

-- A window without the buckets that have left it: newest end, sum of counts, a string that begins with the buckets, their
-- length in it, oldest end.
local function read(value)
  if not value then
    return 0, 0, '', 0, nil
  end
  local length = #value - TAIL
  local newest, total = unpackAt('>I7I4', value, length + 1)
  if newest + WINDOW <= now then
    return 0, 0, '', 0, nil
  end
  local number, _, count = unpackAt('>BI4I4', value, length - BUCKET + 1)
  local oldest = endOf(number, newest)
  while oldest + WINDOW <= now do
    total, length = total - count, length - BUCKET
    number, _, count = unpackAt('>BI4I4', value, length - BUCKET + 1)
    oldest = endOf(number, newest)
  end
  return newest, total, value, length, oldest
end

-- Replaces this replica's buckets by what it tells, if anything, and moves the end of every other bucket that is after
-- `latest` to `latest`. Returns what `read` does.
local function rewrite(newest, buckets, length, tells, latest)
  local list = {}
  for _, each in ipairs(tells or {}) do
    local ends, before = bucketEnd(now - each[1]), list[#list]
    if before and before[1] == ends then
      before[3] = before[3] + each[2]
    elseif ends + WINDOW > now then
      list[#list + 1] = { ends, replica, each[2] }
    end
  end
  for at = 1, length, BUCKET do
    local number, owner, count = unpackAt('>BI4I4', buckets, at)
    if not tells or owner ~= replica then
      list[#list + 1] = { min(endOf(number, newest), latest), owner, count }
    end
  end
  if #list == 0 then
    return 0, 0, '', 0, nil
  end
  table.sort(list, function(a, b) return a[1] > b[1] end)
  local total, packed = 0, {}
  for i, bucket in ipairs(list) do
    total, packed[i] = total + bucket[3], pack('>BI4I4', numberOf(bucket[1]), bucket[2], bucket[3])
  end
  return list[1][1], total, table.concat(packed), #list * BUCKET, list[#list][1]
end

-- The buckets with another count in the one at this place.
local function setCount(buckets, length, at, count)
  return sub(buckets, 1, at + 4) .. pack('>I4', count) .. sub(buckets, at + BUCKET, length)
end

-- Takes slots that were not used out of this replica's buckets with the given ends, if these are there.
local function giveBack(newest, total, buckets, length, slots)
  for _, each in ipairs(slots) do
    local ends, left, at = each[1], each[2], 1
    while left > 0 and at <= length do
      local number, owner, count = unpackAt('>BI4I4', buckets, at)
      if owner == replica and endOf(number, newest) == ends then
        local taken = min(count, left)
        buckets = setCount(buckets, length, at, count - taken)
        total, left = total - taken, left - taken
      end
      at = at + BUCKET
    end
  end
  return total, buckets
end

local formats = {}

-- Counts requests in this replica's bucket with the given end, which is the newest end or later. Returns the value that is
-- to be written.
local function add(newest, total, buckets, length, ends, admitted)
  local number = numberOf(ends)
  for at = 1, ends == newest and length or 0, BUCKET do
    local other, owner, count = unpackAt('>BI4I4', buckets, at)
    if other ~= number then
      break
    end
    if owner == replica then
      return setCount(buckets, length, at, count + admitted) .. pack('>I7I4', ends, total)
    end
  end
  -- 'c<n>' packs the first n bytes of a string: those of the buckets that are left.
  local format = formats[length] or '>BI4I4c' .. length .. 'I7I4'
  formats[length] = format
  return pack(format, number, replica, admitted, buckets, ends, total)
end

local openUsage, closeUsage
if COUNTS_USAGE then
  openUsage, closeUsage = usageAt(now, bucketEnd)
end
local reply = { now }
for i = 3, last do
  local limit, asked = numbers[2 * i - 2], numbers[2 * i - 1]
  local newest, total, buckets, length, oldest = read(values[i])
  local isSetBack = newest > latestEnd
  local isChanged = told[i] or unused[i] or isSetBack
  if told[i] or isSetBack then
    -- Where the clock was set back, later ends are moved to the latest one that slots ahead need, so that the window does
    -- not last longer.
    newest, total, buckets, length, oldest =
      rewrite(newest, buckets, length, told[i], isSetBack and latestEnd or newest)
  elseif unused[i] then
    total, buckets = giveBack(newest, total, buckets, length, unused[i])
  end
  local usage = usageField[i] and openUsage(values[usageField[i]], news[i - 2], unused[i] or {})
  -- Mostly without `max` and `min`: in a script, calls of functions take longer than comparisons.
  local admitted = min(asked, limit - total)
  if usage then
    admitted = min(admitted, usage.left)
  end
  if admitted < 0 then
    admitted = 0
  end
  local ends, value = newest > thisEnd and newest or thisEnd, isMoved[i]
  if admitted > 0 then
    total = total + admitted
    value = add(newest, total, buckets, length, ends, admitted)
    oldest = oldest or ends
  elseif isChanged then
    value = sub(buckets, 1, length) .. pack('>I7I4', newest, total)
  end
  local list = into[i] or written
  if value then
    list[#list + 1], list[#list + 2] = fields[i], value
  end
  -- The wait ends when the oldest bucket leaves or, where more than the limit is counted, the one that makes room: at the
  -- latest the one with what was just admitted.
  local at, left = length - BUCKET + 1, total
  while left >= limit and left > 0 do
    if at > 0 then
      local number, _, count = unpackAt('>BI4I4', buckets, at)
      oldest, left, at = endOf(number, newest), left - count, at - BUCKET
    else
      oldest, left = ends, 0
    end
  end
  local count = #reply
  reply[count + 1], reply[count + 2] = admitted, limit > total and limit - total or 0
  reply[count + 3] = oldest and oldest + WINDOW - now or 0
  if usage then
    local field = usageField[i]
    local packed = closeUsage(usage, admitted) or isMoved[field]
    if packed then
      list[#list + 1], list[#list + 2] = fields[field], packed
    end
    reply[count + 4], reply[count + 5] = usage.day, usage.month
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
    local field, value = scanned[2][i], scanned[2][i + 1]
    local at, span = 1, KEPT
    if sub(field, 1, 8) == 'replica:' then
      span = COUNTS_USAGE and 3 * DAY or 2 * WINDOW
    elseif field ~= '' and sub(field, 1, 6) ~= 'usage:' then
      at, span = #value - TAIL + 1, WINDOW + BUCKET_LENGTH
    end
    if unpackAt('>I7', value, at) + span <= now then
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
return pack('>B' .. string.rep('d', #reply), 1, unpack(reply))
