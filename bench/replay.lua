-- Sends the requests from a file in a loop. All requests are parsed in advance, so that wrk spends the same time on
-- each of them.
local requests, count, next = {}, 0, 0

init = function(args)
  local file = io.open(args[1], 'rb')
  local text = file:read('*a')
  file:close()
  local first = 1
  while true do
    local last = text:find('\0', first, true) or #text + 1
    count = count + 1
    requests[count] = text:sub(first, last - 1)
    if last > #text then break end
    first = last + 1
  end
end

request = function()
  next = next % count + 1
  return requests[next]
end
