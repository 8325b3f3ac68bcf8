-- Takes a log over. ARGV: the fence to take it from, or nothing to take it from anybody; its age in ms.
local from, age = ARGV[1], tonumber(ARGV[2])

if from ~= '' then
    local fence = tonumber(from)
    if not alive or fence > owner then
        return {'unknown'}
    elseif fence < owner then
        return {'fenced'}
    end
end
if not alive then
    begin()
elseif ended then
    return {'ended'}
end
owner = raise()
redis.call('HSET', META, 's', text(serial), 'i', text(major), 'n', text(newest), 't', text(trimmed), 'f', text(owner),
    'e', '0', 'x', text(math.floor(now / 1000) + age), 'c', meta[8], 'b', meta[9])
renew(age)
return {'ok', owner}
