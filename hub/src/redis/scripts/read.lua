-- What follows a place. ARGV: the place's halves; most entries, and most bytes of them, though one is always given.
if not alive then
    return {'gone', serial}
end
local after, most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local log = tonumber(ARGV[1])
local seen = (log < major and 0) or (log == major and after) or math.huge
local gap = seen < trimmed or (log < major and log + after > 0)
if gap then
    seen = trimmed
end

local entries, bytes, full = {}, 0, most == 0
while not full and seen < newest do
    local page = redis.call('XRANGE', STREAM, '(' .. text(major) .. '-' .. text(seen), '+', 'COUNT', '16')
    if #page == 0 then
        -- Evicted by the server.
        gap, trimmed, seen = true, newest, newest
    end
    for _, entry in ipairs(page) do
        local payload = entry[2][4]
        if #entries > 0 and (#entries >= most or bytes + #payload > most_bytes) then
            full = true
            break
        end
        bytes = bytes + #payload + ENTRY
        seen = tonumber(string.match(entry[1], '%-(%d+)$'))
        entries[#entries + 1] = {seen, payload}
    end
end
return {'ok', major, newest, trimmed, ended and 1 or 0, owner, gap and 1 or 0, entries}
