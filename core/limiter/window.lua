-- A caller's window contains the number of permits granted to each replica in each bucket.
--
-- Redis stores a window as a string that contains the buckets, newest first, and a tail.
-- A bucket contains its number (1 byte), the replica (4 bytes) and the permits (4 bytes).
-- The tail contains the end of the newest bucket (7 bytes) and the sum of all permits (4 bytes).
-- The number of a bucket is its end divided by the bucket length, modulo 256. It is unique within a window.
-- Times are in microseconds, by the clock of the Redis server.
-- Lua hashes every string that a script creates. Buckets are therefore small, and are copied as seldom as possible.

local BUCKET_BYTES, TAIL_BYTES, NUMBERS = 9, 11, 256
local pack, unpackAt, sub, min = struct.pack, struct.unpack, string.sub, math.min

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- Returns the end of the bucket that contains a given time. A bucket includes its end, but not its start.
local function bucketEnd(moment)
  return moment + -moment % BUCKET
end

local thisEnd = bucketEnd(now)

-- The window of the current caller. The table is reused, because creating one for each caller in a batch would be slow.
-- `newest` and `oldest` are the ends of buckets. If there are no buckets, `oldest` is false.
-- `total` is the sum of all permits.
-- `bytes` is a string that starts with the buckets. `length` is the total size of the buckets in bytes.
local window = { newest = 0, oldest = false, total = 0, bytes = '', length = 0 }

local function endOf(number, newest)
  return newest - (newest / BUCKET - number) % NUMBERS * BUCKET
end

-- Reads a stored window. Drops buckets that ended at least one window ago.
local function readWindow(stored)
  local length, newest, total = 0, 0, 0
  if stored then
    length = #stored - TAIL_BYTES
    newest, total = unpackAt('>I7I4', stored, length + 1)
  end
  if newest + WINDOW <= now then
    window.newest, window.oldest, window.total, window.bytes, window.length = 0, false, 0, '', 0
    return
  end
  local number, _, permits = unpackAt('>BI4I4', stored, length - BUCKET_BYTES + 1)
  local oldest = endOf(number, newest)
  while oldest + WINDOW <= now do
    total, length = total - permits, length - BUCKET_BYTES
    number, _, permits = unpackAt('>BI4I4', stored, length - BUCKET_BYTES + 1)
    oldest = endOf(number, newest)
  end
  window.newest, window.oldest, window.total, window.bytes, window.length = newest, oldest, total, stored, length
end

-- Replaces the buckets of a replica with the list `admitted` of { age, count }, oldest first.
-- Buckets that end after `latest` are moved to `latest`.
local function rewriteWindow(replica, admitted, latest)
  local list = {}
  for _, each in ipairs(admitted or {}) do
    local ends, last = bucketEnd(now - each.age), list[#list]
    if last and last.ends == ends then
      last.permits = last.permits + each.count
    elseif ends + WINDOW > now then
      list[#list + 1] = { ends = ends, replica = replica, permits = each.count }
    end
  end
  for at = 1, window.length, BUCKET_BYTES do
    local number, owner, permits = unpackAt('>BI4I4', window.bytes, at)
    if not admitted or owner ~= replica then
      list[#list + 1] = { ends = min(endOf(number, window.newest), latest), replica = owner, permits = permits }
    end
  end
  table.sort(list, function(a, b) return a.ends > b.ends end)
  local total, packed = 0, {}
  for i, bucket in ipairs(list) do
    total = total + bucket.permits
    packed[i] = pack('>BI4I4', bucket.ends / BUCKET % NUMBERS, bucket.replica, bucket.permits)
  end
  window.newest, window.oldest = list[1] and list[1].ends or 0, list[1] and list[#list].ends
  window.total, window.bytes, window.length = total, table.concat(packed), #list * BUCKET_BYTES
end

-- Returns a copy of the buckets in which the bucket at offset `at` has a new number of permits.
local function withPermits(at, permits)
  return sub(window.bytes, 1, at + 4) .. pack('>I4', permits) .. sub(window.bytes, at + BUCKET_BYTES, window.length)
end

-- Removes returned permits, a list of { bucketEnd, count }, from the buckets of a replica.
local function returnPermits(replica, returned)
  for _, each in ipairs(returned) do
    local left, at = each.count, 1
    while left > 0 and at <= window.length do
      local number, owner, permits = unpackAt('>BI4I4', window.bytes, at)
      if owner == replica and endOf(number, window.newest) == each.bucketEnd then
        local taken = min(permits, left)
        window.bytes = withPermits(at, permits - taken)
        window.total, left = window.total - taken, left - taken
      end
      at = at + BUCKET_BYTES
    end
  end
end

local formats = {}

-- Adds permits to the newest bucket of the replica, which ends at `ends`.
-- Returns the window in its stored form.
local function packWithGranted(replica, ends, permits)
  local number, bytes, length = ends / BUCKET % NUMBERS, window.bytes, window.length
  window.total, window.oldest = window.total + permits, window.oldest or ends
  for at = 1, ends == window.newest and length or 0, BUCKET_BYTES do
    local other, owner, before = unpackAt('>BI4I4', bytes, at)
    if other ~= number then
      break
    end
    if owner == replica then
      return withPermits(at, before + permits) .. pack('>I7I4', ends, window.total)
    end
  end
  -- 'c<n>' packs the first n bytes of a string.
  local format = formats[length] or '>BI4I4c' .. length .. 'I7I4'
  formats[length] = format
  return pack(format, number, replica, permits, bytes, ends, window.total)
end

-- Finds the bucket whose permits must expire before the limit allows another permit. Returns the end of that bucket.
-- Returns false if the window is empty.
-- `window.total` already includes the permits granted by this call, whose bucket ends at `grantedEnd`.
local function blockingEnd(limit, grantedEnd)
  local at, left, ends = window.length - BUCKET_BYTES + 1, window.total, window.oldest
  while left >= limit and left > 0 do
    if at > 0 then
      local number, _, permits = unpackAt('>BI4I4', window.bytes, at)
      ends, left, at = endOf(number, window.newest), left - permits, at - BUCKET_BYTES
    else
      ends, left = grantedEnd, 0
    end
  end
  return ends
end
