-- What every script begins with: the log as it is now. KEYS: its meta, its stream.
--
-- The meta is a hash. It outlives the log for a while as a tombstone, so that a later log of the name begins above it even
-- where the clock went back, as it may when another machine takes over:
--   s  the last number given to a log or a fence of this name
--   i  the incarnation: the major half of all places
--   n  the minor half of the newest place, 0 before the first entry
--   t  that of the last place that was trimmed, 0 before
--   f  the owner's fence, 0 until somebody claims the log
--   e  1 once the log has ended
--   x  when it expires, in milliseconds of this server's clock
--   c  the bytes of all entries ever; b those of the trimmed ones
-- An entry of the stream has a header h, "<minor of the entry before> <bytes of all before> <1 if it is the last>", and a payload p.
--
-- Numbers are doubles here, exact up to 2^53: microseconds of the clock until the year 2255.

local META, STREAM = KEYS[1], KEYS[2]
local TOMBSTONE = 600000
local ENTRY = 64

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local meta = redis.call('HMGET', META, 's', 'i', 'n', 't', 'f', 'e', 'x', 'c', 'b')
local serial = tonumber(meta[1] or 0)
local major, newest, trimmed = tonumber(meta[2] or 0), tonumber(meta[3] or 0), tonumber(meta[4] or 0)
local owner, ended = tonumber(meta[5] or 0), meta[6] == '1'
local alive = meta[7] and tonumber(meta[7]) > now / 1000

local function text(number)
    return string.format('%.0f', number)
end

-- A number for a log or a fence, higher than any before.
local function raise()
    serial = math.max(serial + 1, now)
    return serial
end

local function begin()
    redis.call('DEL', STREAM)
    major, newest, trimmed, owner, ended = raise(), 0, 0, 0, false
    meta[8], meta[9] = '0', '0'
end

local function renew(age)
    redis.call('PEXPIRE', META, text(age + TOMBSTONE))
    -- A little longer than the meta says, so that it never vanishes from under a log that is alive.
    redis.call('PEXPIRE', STREAM, text(age + 1000))
end
