//! Each change as a script. The first key is the record; a hash that is there is a record that exists.

use redis::{FromRedisValue, ParsingError, Value};
use trunkline_redis::Script;

/// A field that every record has and nobody sees, so that one without fields exists too. No field of a record has this name: it
/// is not UTF-8.
pub(super) const HIDDEN: &[u8] = b"\xff";

/// The scripts.
#[derive(Debug)]
pub(super) struct Scripts {
    /// Arguments: the expiry in milliseconds, then names and values, the hidden field's among them. 1, or 0 if one exists.
    pub(super) create: Script,
    /// Arguments: name, value, the most fields. 1, or 0 without a record, or less than -1: minus the fields there would be.
    pub(super) set: Script,
    /// Argument: name. 1 if it was there, 0 if not, or -1 without a record.
    pub(super) remove: Script,
    /// Arguments: name, summand, the most fields, the most bytes of a value. A [`Sum`].
    pub(super) increment: Script,
    /// Arguments: name, the most fields, whether something is expected, what, whether there is a new value, which. 1 if done, 0 if
    /// not, -1 without a record, or less: minus the fields there would be.
    pub(super) compare_and_set: Script,
}

/// What an increment came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// There is no record.
    Absent,
    /// The sum.
    Is(i64),
    /// What is there is no integer, or the sum leaves their range.
    NotAnInteger,
    /// There would be this many fields.
    TooMany(usize),
    /// The sum would have this many bytes.
    TooLong(usize),
}

/// A script takes its arguments to pieces in steps of 2000: all at once, some thousands would overflow its stack.
const CREATE: &str = r"
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for first = 2, #ARGV, 2000 do
  redis.call('HSET', KEYS[1], unpack(ARGV, first, math.min(first + 1999, #ARGV)))
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
";

/// The length counts the hidden field, so it is what the number of fields would be with one more.
const SET: &str = r"
local fields = redis.call('HLEN', KEYS[1])
if fields == 0 then return 0 end
if fields > tonumber(ARGV[3]) and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -fields end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
";

const REMOVE: &str = r"
if redis.call('HDEL', KEYS[1], ARGV[1]) == 1 then return 1 end
return redis.call('EXISTS', KEYS[1]) - 1
";

/// Redis reads an integer as strictly as we do, and adds it exactly; here a number is no more than 53 bits. Once the field is
/// known to hold one, all that its addition can fail for is the range.
const INCREMENT: &str = r"
local fields = redis.call('HLEN', KEYS[1])
if fields == 0 then return {0} end
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held then
  if fields > tonumber(ARGV[3]) then return {3, fields} end
elseif held ~= '0' and not string.find(held, '^%-?[1-9]%d*$') then
  return {2}
end
local sum = redis.pcall('HINCRBY', KEYS[1], ARGV[1], ARGV[2])
if type(sum) == 'table' and sum.err then
  if string.find(sum.err, 'integer', 1, true) or string.find(sum.err, 'overflow', 1, true) then return {2} end
  return sum
end
local text = redis.call('HGET', KEYS[1], ARGV[1])
if #text > tonumber(ARGV[4]) then
  if held then redis.call('HSET', KEYS[1], ARGV[1], held) else redis.call('HDEL', KEYS[1], ARGV[1]) end
  return {4, #text}
end
return {1, text}
";

const COMPARE_AND_SET: &str = r"
local fields = redis.call('HLEN', KEYS[1])
if fields == 0 then return -1 end
local held = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[3] == '0' then
  if held then return 0 end
elseif held ~= ARGV[4] then
  return 0
end
if ARGV[5] == '0' then
  if held then redis.call('HDEL', KEYS[1], ARGV[1]) end
  return 1
end
if not held and fields > tonumber(ARGV[2]) then return -fields end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[6])
return 1
";

// === impl Scripts ===

impl Default for Scripts {
    fn default() -> Self {
        Self {
            create: Script::new(CREATE),
            set: Script::new(SET),
            remove: Script::new(REMOVE),
            increment: Script::new(INCREMENT),
            compare_and_set: Script::new(COMPARE_AND_SET),
        }
    }
}

// === impl Sum ===

impl FromRedisValue for Sum {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let unheard_of = |value: &Value| ParsingError::from(format!("not a sum: {value:?}"));
        let Value::Array(parts) = &value else { return Err(unheard_of(&value)) };
        match parts.as_slice() {
            [Value::Int(0)] => Ok(Self::Absent),
            [Value::Int(1), Value::BulkString(sum)] => {
                let sum = std::str::from_utf8(sum).ok().and_then(|sum| sum.parse().ok());
                sum.map(Self::Is).ok_or_else(|| unheard_of(&value))
            }
            [Value::Int(2)] => Ok(Self::NotAnInteger),
            [Value::Int(3), Value::Int(fields)] => {
                Ok(Self::TooMany(usize::try_from(*fields).unwrap_or(usize::MAX)))
            }
            [Value::Int(4), Value::Int(bytes)] => {
                Ok(Self::TooLong(usize::try_from(*bytes).unwrap_or(usize::MAX)))
            }
            _ => Err(unheard_of(&value)),
        }
    }
}
