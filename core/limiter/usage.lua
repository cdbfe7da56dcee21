-- The usage of a subject: how many requests passed and were refused on each UTC day. It is packed as: when it was changed
-- (7 bytes), how many parts there are (4), the days, oldest first: the day's number since 1970 (2), requests (6) and
-- refusals (6); and the parts that single streams have in the last three days: day (2), stream (4), requests (6),
-- refusals (6). A stream is a caller on one replica.
local function usageAt(now, bucketEnd)
  local HEAD, DAY_LENGTH, PART = 11, 14, 18
  local pack, unpackAt, sub, max, min, floor = struct.pack, struct.unpack, string.sub, math.max, math.min, math.floor

  -- A request counts in the UTC day of the end of its bucket, because slots ahead may be used until then.
  local function dayOf(moment)
    return floor((bucketEnd(moment) - 1) / DAY)
  end

  -- The first day of a day's month: both are numbers of days since 1970-01-01. The calendar has 146,097 days in 400
  -- years. Years begin on 1 March here, so that the leap day is their last; 719,468 days lie between 0000-03-01 and 1970.
  local function monthStart(day)
    local inEra = (day + 719468) % 146097
    local year = floor((inEra - floor(inEra / 1460) + floor(inEra / 36524) - floor(inEra / 146096)) / 365)
    local inYear = inEra - (365 * year + floor(year / 4) - floor(year / 100))
    return day - (inYear - floor((153 * floor((5 * inYear + 2) / 153) + 2) / 5))
  end

  local today = dayOf(now)
  local firstOfMonth = monthStart(today)

  -- Unpacks a usage: `days` from yesterday on, earlier ones as they are packed in `older`, the streams' `parts`, and this
  -- month's requests.
  local function read(value)
    local usage = { older = '', days = {}, parts = {}, month = 0 }
    if not value then
      return usage
    end
    local _, parts = unpackAt('>I7I4', value)
    local partsAt = #value + 1 - parts * PART
    for at = partsAt, #value, PART do
      local day, stream, requests, refused = unpackAt('>I2I4I6I6', value, at)
      -- Parts are kept a day longer than replicas tell them: without its part, a day that is told again after the clock
      -- was set back over midnight would be added twice.
      if day >= today - 2 then
        usage.parts[#usage.parts + 1] = { day = day, stream = stream, requests = requests, refused = refused }
      end
    end
    local from, to = HEAD + 1, HEAD
    for at = from, partsAt - 1, DAY_LENGTH do
      local day, requests, refused = unpackAt('>I2I6I6', value, at)
      if day >= firstOfMonth then
        usage.month = usage.month + requests
      end
      if day >= today - 1 then
        usage.days[#usage.days + 1] = { day = day, requests = requests, refused = refused }
      elseif (day + 1) * DAY + KEPT <= now then
        from = at + DAY_LENGTH
      end
      if day < today - 1 then
        to = at + DAY_LENGTH - 1
      end
    end
    usage.older = sub(value, from, to)
    return usage
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

  -- Sets the part that this stream has of a day to what `change` returns, and adds the difference to the day; does nothing
  -- to days before yesterday.
  local function setPart(usage, day, change)
    if day < today - 1 then
      return
    end
    local part, whole = entryOf(usage.parts, day, usage.stream), entryOf(usage.days, day, nil)
    local requests, refused = change(part)
    local before = whole.requests
    whole.requests = max(0, before + requests - part.requests)
    whole.refused = max(0, whole.refused + refused - part.refused)
    part.requests, part.refused = requests, refused
    if day >= firstOfMonth then
      usage.month = usage.month + whole.requests - before
    end
  end

  -- A subject's usage with what this replica tells of it and gives back; and how many more requests its quotas let pass.
  local function open(value, news, unused)
    local stream, perDay, perMonth, days = unpack(news)
    local usage = read(value)
    usage.stream = stream
    for _, each in ipairs(days) do
      local day, requests, refused = unpack(each)
      setPart(usage, day, function(part) return requests or part.requests, refused end)
    end
    for _, each in ipairs(unused) do
      setPart(usage, dayOf(each[1]), function(part) return max(0, part.requests - each[2]), part.refused end)
    end
    local used = entryOf(usage.days, today, nil).requests
    usage.left = min((perDay or math.huge) - used, (perMonth or math.huge) - usage.month)
    return usage
  end

  -- Counts what was admitted, and tells how much was used today. Returns what is to be written, if anything.
  local function close(usage, admitted)
    if admitted > 0 then
      setPart(usage, today, function(part) return part.requests + admitted, part.refused end)
    end
    usage.day = entryOf(usage.days, today, nil).requests
    if #usage.parts == 0 then
      return nil
    end
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

  return open, close
end
