-- Appends an entry, trims, and tells who follows. ARGV: the fence, or nothing; most entries; age in ms; most bytes;
-- 1 if nothing follows; how to publish, and where; the most bytes of a payload that is published; the payload; the place of
-- the entry before it, in two halves, where it may be the repetition of one that is there.
local fence, most, age, most_bytes, last = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local publish, channel, inline, payload = ARGV[6], ARGV[7], tonumber(ARGV[8]), ARGV[9]

if not alive then
    if fence ~= '' then
        return {'unknown'}
    end
    begin()
else
    local shown = fence == '' and 0 or tonumber(fence)
    if shown > owner then
        -- Fences only rise, so this one was given for an earlier log of the name.
        return {'unknown'}
    elseif shown < owner then
        return {'fenced'}
    end
    local after_major, after_minor = tonumber(ARGV[10]), tonumber(ARGV[11])
    if after_major and newest > 0 and (major > after_major or (major == after_major and newest > after_minor)) then
        return {'ok', major, newest}
    end
    if ended then
        return {'ended'}
    end
end

local total, gone = tonumber(meta[8]), tonumber(meta[9])
local previous = newest
-- Time rather than a count: where a failover lost the newest entries, the next one still lies after what was handed out.
newest = math.max(newest + 1, now - major)
redis.call('XADD', STREAM, text(major) .. '-' .. text(newest), 'h', text(previous) .. ' ' .. text(total) .. ' ' .. last, 'p', payload)
total = total + #payload + ENTRY

-- What is before this entry is no more.
local function trimmed_before(entry)
    local before, bytes = string.match(entry[2][2], '^(%d+) (%d+)')
    trimmed, gone = tonumber(before), tonumber(bytes)
end

local length = redis.call('XLEN', STREAM)
if length > most then
    length = most
    redis.call('XTRIM', STREAM, 'MAXLEN', text(most))
    trimmed_before(redis.call('XRANGE', STREAM, '-', '+', 'COUNT', '1')[1])
end
-- The oldest beyond the bytes go; the newest stays whatever its size. Reading them is what costs, so about as many as have
-- to go are read at a time.
local start, kept = '-', nil
local usual = (total - gone) / length
while total - gone > most_bytes do
    local count = math.min(math.ceil((total - gone - most_bytes) / usual) + 1, 64)
    local page = redis.call('XRANGE', STREAM, start, '+', 'COUNT', text(count))
    if #page == 0 then
        break
    end
    for _, entry in ipairs(page) do
        trimmed_before(entry)
        kept = entry[1]
        if total - gone <= most_bytes then
            break
        end
    end
    start = '(' .. kept
end
if kept then
    redis.call('XTRIM', STREAM, 'MINID', kept)
end

redis.call('HSET', META, 's', text(serial), 'i', text(major), 'n', text(newest), 't', text(trimmed), 'f', text(owner),
    'e', last, 'x', text(math.floor(now / 1000) + age), 'c', text(total), 'b', text(gone))
renew(age)

local header = text(major) .. ' ' .. text(newest) .. ' ' .. text(previous) .. ' ' .. text(trimmed) .. ' ' .. last
if #payload <= inline then
    redis.call(publish, channel, 'e ' .. header .. '\n' .. payload)
else
    redis.call(publish, channel, 'r ' .. header .. '\n')
end
return {'ok', major, newest}
