-- Deletes a log, and tells who follows. ARGV: how to publish, and where.
if alive then
    redis.call('DEL', META, STREAM)
    redis.call('HSET', META, 's', text(serial))
    redis.call('PEXPIRE', META, text(TOMBSTONE))
    redis.call(ARGV[1], ARGV[2], 'd ' .. text(major) .. '\n')
end
return {'ok'}
