-- One subject's sliding window. The arguments and the reply are explained in window-script.ts.
--
-- The key is a list, newest entry first: calls, stamp, total, stamp, total, ..., stamp, total.
-- An entry's total counts everything admitted up to its stamp (microseconds of this server's clock), so the
-- window holds the newest total less that of the last entry, which is the newest to have left the window.
-- `calls` says of each replica which of its calls was applied last, how much it counted, and until when to keep that.

local key = KEYS[1]
local asked, limit, window, grain = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local replica, call, expected = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local ahead, unused, unusedStamp = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local FIRST_REPORT = 11
-- A lease is at most this part of what is left.
local LEASE_SHARE = 1 / 64

local function integer(number)
  return string.format('%.0f', number)
end

-- The end of the grain that a moment is in: an admission counts until every one of its grain has left the window.
local function stampOf(moment)
  return moment + (grain - moment % grain) % grain
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local head = redis.call('LRANGE', key, 0, 2)
local exists = #head == 3
local calls, newest, total = head[1] or '', tonumber(head[2] or 0), tonumber(head[3] or 0)

local last, counted = string.match(calls, replica .. ':(%d+):(%d+):')
last, counted = tonumber(last or 0), tonumber(counted or 0)
-- Below `expected`: admissions that this replica knows of were lost. From `call` on: this one comes twice, or too late.
if last < expected or last >= call then
  return { -1, last, 0 }
end

local reported = 0
-- Whether the key has to be given its time to live anew.
local renewed = false

-- Writes the list anew with the replica's report in it. A clock that was set back leaves stamps in the future: they
-- become now.
local function merge()
  local entries = {}
  local list = redis.call('LRANGE', key, 1, -1)
  for i = 1, #list - 3, 2 do
    entries[#entries + 1] = { math.min(tonumber(list[i]), stampOf(now)), tonumber(list[i + 1]) - tonumber(list[i + 3]) }
  end
  for i = FIRST_REPORT, #ARGV, 3 do
    local tag, age, count = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    if tag == last then
      local known = math.min(count, counted)
      counted, count = counted - known, count - known
    end
    local stamp = stampOf(now - age)
    if tag >= last and count > 0 and stamp + window > now then
      entries[#entries + 1] = { stamp, count }
      reported = reported + count
    end
  end
  table.sort(entries, function(a, b) return a[1] < b[1] end)
  redis.call('DEL', key)
  renewed = true
  newest, total, exists = 0, 0, #entries > 0
  if not exists then
    return
  end
  redis.call('LPUSH', key, 0, 0)
  for _, entry in ipairs(entries) do
    newest, total = entry[1], total + entry[2]
    redis.call('LPUSH', key, integer(total), integer(newest))
  end
  redis.call('LPUSH', key, calls)
end

if #ARGV >= FIRST_REPORT or newest > now + window then
  merge()
end

-- Takes leased slots that were not used out of their entry, and so out of the totals of all that came later.
local function giveBack()
  local i, entry = 1, redis.call('LRANGE', key, 1, 2)
  while #entry == 2 and tonumber(entry[1]) > unusedStamp do
    i = i + 2
    entry = redis.call('LRANGE', key, i, i + 1)
  end
  -- Not there: it has left the window, or got another stamp since the clock was set back. Then they stay counted.
  if tonumber(entry[1]) ~= unusedStamp then
    return
  end
  for at = 2, i + 1, 2 do
    redis.call('LSET', key, at, integer(tonumber(redis.call('LINDEX', key, at)) - unused))
  end
  total = total - unused
end

if exists and unused > 0 then
  giveBack()
end

-- What has left the window goes, but for the newest of it.
local base = total
local oldest = nil
if exists then
  if newest + window <= now then
    redis.call('LTRIM', key, 0, 2)
  end
  local tail = redis.call('LRANGE', key, -4, -1)
  while #tail == 4 and tonumber(tail[1]) + window <= now do
    redis.call('LTRIM', key, 0, -3)
    tail = redis.call('LRANGE', key, -4, -1)
  end
  base, oldest = tonumber(tail[#tail]), tonumber(tail[1])
end

local room = limit - (total - base)
local admitted = math.max(0, math.min(asked, room))
local leased = math.max(0, math.min(ahead, math.floor((room - admitted) * LEASE_SHARE)))
local taken = admitted + leased

if taken + reported > 0 then
  local kept = { replica .. ':' .. integer(call) .. ':' .. integer(taken + reported) .. ':' .. integer((now + 2 * window) / 1000) }
  for id, rest, keep in string.gmatch(calls, '(%w+)(:%d+:%d+:)(%d+)') do
    if id ~= replica and tonumber(keep) * 1000 > now then
      kept[#kept + 1] = id .. rest .. keep
    end
  end
  calls = table.concat(kept, ' ')
  local stamp = math.max(stampOf(now), newest)
  if taken > 0 and exists and stamp == newest and total > base then
    total = total + taken
    redis.call('LSET', key, 0, calls)
    redis.call('LSET', key, 2, integer(total))
  else
    if exists then
      redis.call('LPOP', key)
    else
      redis.call('RPUSH', key, 0, 0)
    end
    if taken > 0 then
      if total == base then
        oldest = stamp
      end
      newest, total = stamp, total + taken
      redis.call('LPUSH', key, integer(total), integer(newest), calls)
    else
      redis.call('LPUSH', key, calls)
    end
    renewed = true
  end
end

if renewed then
  redis.call('PEXPIRE', key, integer(math.ceil((newest - now + window) / 1000) + 1000))
end

-- With a limit that was lowered below what is counted, the oldest entry may not be the one that makes room.
local used = total - base
if used > limit then
  local i = -4
  local entry = redis.call('LRANGE', key, i, i + 1)
  while total - tonumber(entry[2]) >= math.max(limit, 1) do
    i = i - 2
    entry = redis.call('LRANGE', key, i, i + 1)
  end
  oldest = tonumber(entry[1])
end

local reset = used > 0 and oldest + window - now or 0
return { admitted, math.max(0, limit - used), reset, leased, newest, stampOf(now) - now }
