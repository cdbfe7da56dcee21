-- Sends the requests from a file in a loop. They are parsed in advance, so that wrk spends the same time on every
-- request.
local requests, count, next = {}, 0, 0

init = function(args)
  local file = io.open(args[1], 'rb')
  local text = file:read('*a')
  file:close()
  local first = 1
  while true do
    local _, last = text:find('\r\n\r\n', first, true)
    if not last then break end
    count = count + 1
    requests[count] = text:sub(first, last)
    first = last + 1
  end
end

request = function()
  next = next % count + 1
  return requests[next]
end
