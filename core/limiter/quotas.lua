-- Usage is the number of allowed and rejected requests of a caller on each UTC day.
-- Usage is the sum of all counters of the caller. A counter belongs to one caller on one replica.
-- A resync overwrites the values of a counter. The total of the day changes by the same amount as the counter.
--
-- Redis stores usage as a string, which `unpackDays` in usage.ts also reads.
-- The string starts with the time of the last change (7 bytes) and the number of counters (4 bytes).
-- The days follow, oldest first: days since 1970-01-01 (2 bytes), requests (6 bytes), rejected requests (6 bytes).
-- The counters of the last three days follow: day (2), counter id (4), requests (6), rejected requests (6).

local USAGE_HEAD_BYTES, DAY_BYTES, COUNTER_BYTES = 11, 14, 18
local max, floor = math.max, math.floor

-- Returns the day for which requests at a given time count. All requests in a bucket count for the same day.
-- This includes requests that use prefetched permits at the end of the bucket.
local function dayOf(moment)
  return floor((bucketEnd(moment) - 1) / DAY)
end

-- Returns the first day of the month that contains a day.
-- The calendar repeats every 400 years, or 146,097 days.
-- In this function, years start on 1 March, so that a leap day is the last day of its year.
-- There are 719,468 days from 0000-03-01 to 1970-01-01.
local function monthStart(day)
  local inEra = (day + 719468) % 146097
  local year = floor((inEra - floor(inEra / 1460) + floor(inEra / 36524) - floor(inEra / 146096)) / 365)
  local inYear = inEra - (365 * year + floor(year / 4) - floor(year / 100))
  return day - (inYear - floor((153 * floor((5 * inYear + 2) / 153) + 2) / 5))
end

local today, firstOfMonth
if COUNTS_USAGE then
  today = dayOf(now)
  firstOfMonth = monthStart(today)
end

-- Reads the counters of the last three days.
-- Calls report usage only for today and yesterday.
-- Counters of the day before yesterday are kept, because the clock might be set back past midnight.
local function readCounters(stored, from)
  local counters = {}
  for at = from, #stored, COUNTER_BYTES do
    local day, id, requests, refused = unpackAt('>I2I4I6I6', stored, at)
    if day >= today - 2 then
      counters[#counters + 1] = { day = day, id = id, requests = requests, refused = refused }
    end
  end
  return counters
end

-- Reads stored usage.
-- `days` contains yesterday and today. `older` contains earlier days in their stored form.
-- `counters` contains the counters of all replicas. `month` is the number of requests in this month.
local function readUsage(stored)
  local usage = { older = '', days = {}, counters = {}, month = 0 }
  if not stored then
    return usage
  end
  local _, count = unpackAt('>I7I4', stored)
  local countersAt = #stored + 1 - count * COUNTER_BYTES
  usage.counters = readCounters(stored, countersAt)
  local from, to = USAGE_HEAD_BYTES + 1, USAGE_HEAD_BYTES
  for at = from, countersAt - 1, DAY_BYTES do
    local day, requests, refused = unpackAt('>I2I6I6', stored, at)
    if day >= firstOfMonth then
      usage.month = usage.month + requests
    end
    if day >= today - 1 then
      usage.days[#usage.days + 1] = { day = day, requests = requests, refused = refused }
    else
      to = at + DAY_BYTES - 1
      if (day + 1) * DAY + KEPT <= now then
        from = at + DAY_BYTES
      end
    end
  end
  usage.older = sub(stored, from, to)
  return usage
end

local function entryOf(list, day, id)
  for _, entry in ipairs(list) do
    if entry.day == day and entry.id == id then
      return entry
    end
  end
  local entry = { day = day, id = id, requests = 0, refused = 0 }
  list[#list + 1] = entry
  return entry
end

-- Sets this replica's counter for a day, and adds the change to the total of that day.
local function setCounter(usage, day, requests, refused)
  local counter, total = entryOf(usage.counters, day, usage.counterId), entryOf(usage.days, day, nil)
  local before = total.requests
  total.requests = max(0, before + requests - counter.requests)
  total.refused = max(0, total.refused + refused - counter.refused)
  counter.requests, counter.refused = requests, refused
  if day >= firstOfMonth then
    usage.month = usage.month + total.requests - before
  end
end

local function addRequests(usage, day, requests)
  if day >= today - 1 then
    local counter = entryOf(usage.counters, day, usage.counterId)
    setCounter(usage, day, max(0, counter.requests + requests), counter.refused)
  end
end

-- Reads a caller's usage and applies the values that the call reports.
-- `left` is the number of requests that the quotas still allow.
-- `counter` is { id, perDay, perMonth }.
-- `days` is a list of { day, requests, refused }. `returned` is a list of { bucketEnd, count }.
local function openUsage(stored, counter, days, returned)
  local usage = readUsage(stored)
  usage.counterId = counter.id
  for _, each in ipairs(days or {}) do
    if each.day >= today - 1 then
      local known = entryOf(usage.counters, each.day, counter.id)
      setCounter(usage, each.day, each.requests or known.requests, each.refused)
    end
  end
  for _, each in ipairs(returned or {}) do
    addRequests(usage, dayOf(each.bucketEnd), -each.count)
  end
  local used = entryOf(usage.days, today, nil).requests
  usage.left = min((counter.perDay or math.huge) - used, (counter.perMonth or math.huge) - usage.month)
  return usage
end

-- Counts granted permits. Returns the usage in its stored form, or nil if there is nothing to store.
local function closeUsage(usage, granted)
  if granted > 0 then
    addRequests(usage, today, granted)
  end
  usage.today = entryOf(usage.days, today, nil).requests
  if #usage.counters == 0 then
    return nil
  end
  table.sort(usage.days, function(a, b) return a.day < b.day end)
  local packed = { pack('>I7I4', now, #usage.counters) .. usage.older }
  for _, each in ipairs(usage.days) do
    packed[#packed + 1] = pack('>I2I6I6', each.day, each.requests, each.refused)
  end
  for _, each in ipairs(usage.counters) do
    packed[#packed + 1] = pack('>I2I4I6I6', each.day, each.id, each.requests, each.refused)
  end
  return table.concat(packed)
end
