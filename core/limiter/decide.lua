-- Decides the requests of one call. The arguments and the reply are named in decide-script.ts.
--
-- A shard is one hash. Every field begins with 7 bytes of time, in microseconds of this server's clock:
--   of a subject: the end of its newest bucket, the sum of its counts (4 bytes), and its buckets, oldest first: the end
--     (its lower 4 bytes), the replica that admitted them (4), and how many requests (4)
--   of a subject's usage ('usage:<subject>'): when it was changed, how many parts there are (4), the UTC days, oldest
--     first: the day's number since 1970 (2), requests (6) and refusals (6); and the parts that single streams have in the
--     last three days: day (2), stream (4), requests (6), refusals (6). A stream is a caller on one replica.
--   of a replica ('replica:<id>'): when its last call was applied, and the number of that call (7)
--   '': when fields were last looked through for old ones, and where that stopped
-- Anybody can come from as many addresses as they like, so those have two hashes of their own, which bound them: a young
-- one, and the one before it. What is asked for is moved to the young one. When that is full, or as old as what is kept
-- (a window, or two months of usage), it takes the place of the one before, which is dropped with those addresses that
-- were not seen for the longest. In the young one
--   '': when it was begun

local shard, young, old, replica = KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1])
local number, previous = tonumber(ARGV[2]), tonumber(ARGV[3])
local window, bucketLength, exactUpTo = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local mostAddresses, kept = tonumber(ARGV[7]), tonumber(ARGV[8])
local ASKS = 9
local HEAD, BUCKET, WRAP = 11, 12, 4294967296
local USAGE_HEAD, DAY_LENGTH, PART = 11, 14, 18
local DAY = 86400000000
-- Bounds the time that one call takes: 10 ms.
local MOST_SWEPT = 20000

local pack, unpackAt, sub, max, min, floor = struct.pack, struct.unpack, string.sub, math.max, math.min, math.floor
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local fields, addresses = { 'replica:' .. ARGV[1], '' }, {}
for i = ASKS, #ARGV, 4 do
  fields[#fields + 1] = ARGV[i]
end
local asks = #fields
-- By the field of a subject: what is told of its window and of its usage, and which field its usage is.
local windowNews, usageNews, usageField = {}, {}, {}
for i = 3, asks do
  local news = ARGV[ASKS + 4 * (i - 3) + 3]
  local usageAt = string.find(news, '#', 1, true)
  windowNews[i] = usageAt and sub(news, 1, usageAt - 1) or news
  if usageAt then
    usageNews[i] = sub(news, usageAt + 1)
    fields[#fields + 1] = 'usage:' .. fields[i]
    usageField[i] = #fields
  end
end
for i = 3, #fields do
  if sub(fields[i], 1, 3) == 'ip:' or sub(fields[i], 1, 9) == 'usage:ip:' then
    addresses[#addresses + 1] = fields[i]
  end
end
local values = redis.call('HMGET', shard, unpack(fields))

-- last >= number: this call comes late or twice. last < previous: this server has lost calls of the replica.
local last = values[1] and unpackAt('>I7', values[1], 8) or 0
if last >= number or last < previous then
  return { 0, last }
end

local begun, isMoved = false, {}
if #addresses > 0 then
  local inYoung, inOld = redis.call('HMGET', young, unpack(addresses)), redis.call('HMGET', old, unpack(addresses))
  local at = 1
  for i = 3, #fields do
    if fields[i] == addresses[at] then
      values[i], isMoved[i], at = inYoung[at] or inOld[at], not inYoung[at], at + 1
    end
  end
  begun = redis.call('HGET', young, '')
  begun = begun and min(unpackAt('>I7', begun), now)
  if begun and (begun + kept <= now or redis.call('HLEN', young) > mostAddresses) then
    redis.call('UNLINK', old)
    redis.call('RENAME', young, old)
    begun = false
  end
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
    local left = tonumber(count)
    for at = #buckets - BUCKET + 1, 1, -BUCKET do
      local low, owner, counted = unpackAt('>I4I4I4', buckets, at)
      if low == ends % WRAP and owner == replica then
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

-- The UTC day that a request counts in: slots ahead, which may be used until their bucket ends, belong to its day.
local function dayOf(moment)
  return floor((moment + -moment % bucketLength - 1) / DAY)
end

-- The first day of a day's month: both are numbers of days since 1970-01-01. The calendar has 146,097 days in 400 years,
-- which are counted from a March here, so that the leap day is the last of a year.
local function monthStart(day)
  local inEra = (day + 719468) % 146097
  local year = floor((inEra - floor(inEra / 1460) + floor(inEra / 36524) - floor(inEra / 146096)) / 365)
  local inYear = inEra - (365 * year + floor(year / 4) - floor(year / 100))
  return day - (inYear - floor((153 * floor((5 * inYear + 2) / 153) + 2) / 5))
end

local today = dayOf(now)

-- Usage as days, of which those before yesterday stay packed, and parts of streams; and the requests of this month.
local function readUsage(value)
  local usage = { older = '', days = {}, parts = {}, month = 0 }
  if not value then
    return usage
  end
  local _, parts = unpackAt('>I7I4', value)
  local partsAt, first = #value + 1 - parts * PART, monthStart(today)
  for at = partsAt, #value, PART do
    local day, stream, requests, refused = unpackAt('>I2I4I6I6', value, at)
    -- For a day longer than they are told, so that a clock that is set back over midnight counts none of them twice.
    if day >= today - 2 then
      usage.parts[#usage.parts + 1] = { day = day, stream = stream, requests = requests, refused = refused }
    end
  end
  local from, to = USAGE_HEAD + 1, USAGE_HEAD
  for at = from, partsAt - 1, DAY_LENGTH do
    local day, requests, refused = unpackAt('>I2I6I6', value, at)
    if day >= first then
      usage.month = usage.month + requests
    end
    if day >= today - 1 then
      usage.days[#usage.days + 1] = { day = day, requests = requests, refused = refused }
    elseif (day + 1) * DAY + kept <= now then
      from = at + DAY_LENGTH
    end
    if day < today - 1 then
      to = at + DAY_LENGTH - 1
    end
  end
  usage.older = sub(value, from, to)
  return usage
end

local function packUsage(usage)
  table.sort(usage.days, function(a, b) return a.day < b.day end)
  local packed = { pack('>I7I4', now, #usage.parts) .. usage.older }
  for _, each in ipairs(usage.days) do
    packed[#packed + 1] = pack('>I2I6I6', each.day, each.requests, each.refused)
  end
  for _, each in ipairs(usage.parts) do
    packed[#packed + 1] = pack('>I2I4I6I6', each.day, each.stream, each.requests, each.refused)
  end
  return table.concat(packed)
end

local function entryOf(list, day, stream)
  for _, each in ipairs(list) do
    if each.day == day and each.stream == stream then
      return each
    end
  end
  list[#list + 1] = { day = day, stream = stream, requests = 0, refused = 0 }
  return list[#list]
end

-- What a stream has used of a day; nil of a day before yesterday, which stays as it is.
local function partOf(usage, day, stream)
  return day >= today - 1 and entryOf(usage.parts, day, stream) or nil
end

-- Makes a part what is given, and changes its day by as much.
local function setPart(usage, part, requests, refused)
  local whole = entryOf(usage.days, part.day, nil)
  local before = whole.requests
  whole.requests = max(0, before + requests - part.requests)
  whole.refused = max(0, whole.refused + refused - part.refused)
  part.requests, part.refused = requests, refused
  if part.day >= monthStart(today) then
    usage.month = usage.month + whole.requests - before
  end
end

local reply, written = { 1, now }, { fields[1], pack('>I7I7', now, number) }
local writtenAddresses = { '', pack('>I7', begun or now) }
for i = 3, asks do
  local arg = ASKS + 4 * (i - 3)
  local limit, asked, news = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), windowNews[i]
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
  local usage, stream, used, quotaLeft
  if usageField[i] then
    local id, perDay, perMonth, parts = string.match(usageNews[i], '^(%d+):(%d*):(%d*)(.*)$')
    usage, stream = readUsage(values[usageField[i]]), tonumber(id)
    for day, requests, refused in string.gmatch(parts, '(%d+):(%d*):(%d+)') do
      local part = partOf(usage, tonumber(day), stream)
      if part then
        setPart(usage, part, tonumber(requests) or part.requests, tonumber(refused))
      end
    end
    for ends, count in string.gmatch(told and '' or news, '(%d+):(%d+)') do
      local part = partOf(usage, dayOf(tonumber(ends)), stream)
      if part then
        setPart(usage, part, max(0, part.requests - count), part.refused)
      end
    end
    used = entryOf(usage.days, today, nil)
    quotaLeft = min((tonumber(perDay) or math.huge) - used.requests, (tonumber(perMonth) or math.huge) - usage.month)
  end
  local admitted = max(0, min(asked, limit - total, quotaLeft or asked))
  if admitted > 0 then
    local ends = max(bucketEnd(now, limit), newest)
    buckets = add(newest, buckets, ends, admitted)
    newest, total, oldest, isChanged = ends, total + admitted, oldest or ends, true
  end
  local into = isMoved[i] == nil and written or writtenAddresses
  if isChanged or (isMoved[i] and values[i]) then
    into[#into + 1] = fields[i]
    into[#into + 1] = isChanged and pack('>I7I4', newest, total) .. buckets or values[i]
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
  if usage then
    if admitted > 0 then
      local part = partOf(usage, today, stream)
      setPart(usage, part, part.requests + admitted, part.refused)
    end
    local field = usageField[i]
    if #usage.parts > 0 or (isMoved[field] and values[field]) then
      into[#into + 1], into[#into + 2] = fields[field], packUsage(usage)
    end
    reply[#reply + 1], reply[#reply + 2] = used.requests, usage.month
  end
end

-- Once in a bucket's length some fields are looked through, all of them in half a window; those out of use are dropped.
local sweep = values[2]
local isDue = not sweep or math.abs(now - unpackAt('>I7', sweep)) >= bucketLength
if isDue then
  local share = math.ceil(redis.call('HLEN', shard) / 30)
  local scanned = redis.call('HSCAN', shard, sweep and sub(sweep, 8) or 0, 'COUNT', max(10, min(share, MOST_SWEPT)))
  for i = 1, #scanned[2], 2 do
    -- A replica relies on its record for a window after its last call, or two days where it counts usage, and what it
    -- sends may be on its way for a while.
    local field, span = scanned[2][i], window + bucketLength
    if sub(field, 1, 8) == 'replica:' then
      span = max(2 * window, min(kept, 3 * DAY))
    elseif sub(field, 1, 6) == 'usage:' then
      span = kept
    end
    if unpackAt('>I7', scanned[2][i + 1]) + span <= now then
      redis.call('HDEL', shard, field)
    end
  end
  written[#written + 1], written[#written + 2] = '', pack('>I7', now) .. scanned[1]
end
redis.call('HMSET', shard, unpack(written))
if #addresses > 0 then
  redis.call('HMSET', young, unpack(writtenAddresses))
  if not begun then
    redis.call('PEXPIRE', young, math.ceil(kept / 500))
  end
end
if isDue then
  redis.call('PEXPIRE', shard, math.ceil(kept / 500))
end
return reply
