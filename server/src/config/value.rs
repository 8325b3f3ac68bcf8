//! Reads single values, from a typed place (TOML) or an untyped one (a variable, a flag, a file with a secret).

use std::{fmt::Display, net::SocketAddr, ops::RangeInclusive, path::PathBuf, time::Duration};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use trunkline_protocol::header::{AllowedHost, AllowedOrigin, InvalidEntry};

use super::types::{Backend, PublicUrl, RingKey};

/// A value as it was found.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    /// From an untyped place: a text that may mean any type.
    Untyped(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer: digits without prefix or underscores, and their base.
    Integer(String, u32),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array of strings, or the lines of a file.
    List(Vec<String>),
    /// Something that no key takes; the name of its type.
    Other(&'static str),
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Which item of a list, if it is one of them.
    pub(super) item: Option<usize>,
    pub(super) what: String,
    pub(super) remedy: String,
}

/// The number of bytes that ring keys have.
const KEY_BYTES: usize = 32;

/// Units of time, the largest first.
const TIME_UNITS: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Units of size, the largest first.
const SIZE_UNITS: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

// === impl Wrong ===

impl Wrong {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { item: None, what: what.into(), remedy: remedy.into() }
    }

    fn at(mut self, item: usize) -> Self {
        self.item = Some(item);
        self
    }
}

// === impl Raw ===

impl Raw {
    /// What the value is, for a value of the wrong type.
    fn kind(&self) -> &'static str {
        match self {
            Self::Untyped(_) => "a text",
            Self::Text(_) => "a string",
            Self::Integer(..) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::List(_) => "a list",
            Self::Other(kind) => kind,
        }
    }

    fn is_not(&self, wanted: &str, remedy: impl Into<String>) -> Wrong {
        Wrong::new(format!("{} is no {wanted}", self.kind()), remedy)
    }

    fn text(&self, wanted: &str, remedy: &str) -> Result<&str, Wrong> {
        match self {
            Self::Untyped(text) | Self::Text(text) => Ok(text),
            _ => Err(self.is_not(wanted, remedy)),
        }
    }

    fn list(&self, remedy: &str) -> Result<Vec<&str>, Wrong> {
        match self {
            Self::List(items) => Ok(items.iter().map(String::as_str).collect()),
            Self::Untyped(text) => {
                Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
            }
            _ => Err(self.is_not("list of strings", remedy)),
        }
    }

    /// A whole number, not negative.
    fn number(&self, remedy: &str) -> Result<u64, Wrong> {
        let wrong = |text: &str| Wrong::new(format!("{} is no number of this kind", quoted(text)), remedy);
        match self {
            Self::Integer(digits, radix) => u64::from_str_radix(digits, *radix).map_err(|_| wrong(digits)),
            Self::Untyped(text) => whole(text).ok_or_else(|| wrong(text)),
            _ => Err(self.is_not("number", format!("{remedy}, without quotes"))),
        }
    }
}

/// A number in decimal digits, as TOML writes one: underscores may stand between them, and no sign before them.
fn whole(text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// A value in a message: on one line, and not all of it if it is long.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn within<T: PartialOrd>(
    value: T,
    range: &RangeInclusive<T>,
    given: impl Display,
    show: fn(&T) -> String,
) -> Result<T, Wrong> {
    if range.contains(&value) {
        return Ok(value);
    }
    let remedy = format!("write a value from {} to {}", show(range.start()), show(range.end()));
    Err(Wrong::new(format!("{given} is out of range"), remedy))
}

// === values ===

/// A count of things.
pub(super) fn count(raw: &Raw, range: &RangeInclusive<usize>) -> Result<usize, Wrong> {
    let number = raw.number("write a whole number")?;
    within(usize::try_from(number).unwrap_or(usize::MAX), range, number, usize::to_string)
}

/// A number of bytes, as `65536` or `"64KiB"`.
pub(super) fn size(raw: &Raw, range: &RangeInclusive<usize>) -> Result<usize, Wrong> {
    const REMEDY: &str = r#"write a number of bytes, or a number with B, KiB, MiB or GiB, as in "64KiB""#;
    let bytes = match raw {
        Raw::Text(text) | Raw::Untyped(text) => {
            let bytes = whole(text).or_else(|| with_unit(text, SIZE_UNITS));
            bytes.ok_or_else(|| Wrong::new(format!("{} is no size", quoted(text)), REMEDY))?
        }
        _ => raw.number(REMEDY)?,
    };
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    within(bytes, range, show_size(bytes), |bytes| show_size(*bytes))
}

/// A length of time, as `"250ms"`.
pub(super) fn time(raw: &Raw, range: &RangeInclusive<Duration>) -> Result<Duration, Wrong> {
    const REMEDY: &str = r#"write a whole number with ms, s, m, h or d, as in "250ms""#;
    let text = match raw {
        Raw::Integer(digits, 10) => {
            return Err(Wrong::new(format!("{digits} has no unit"), REMEDY));
        }
        _ => raw.text("length of time", REMEDY)?,
    };
    let wrong = || Wrong::new(format!("{} is no length of time", quoted(text)), REMEDY);
    let millis = with_unit(text, TIME_UNITS).ok_or_else(wrong)?;
    within(Duration::from_millis(millis), range, text, |time| show_time(*time))
}

/// A number directly followed by a unit; a space may stand between them.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_')?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    Some(whole(number)?.saturating_mul(*factor))
}

/// A length of time in its largest unit without a rest.
pub(super) fn show_time(time: Duration) -> String {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 { "0s".to_owned() } else { in_largest_unit(millis, TIME_UNITS) }
}

/// A number of bytes in its largest unit without a rest.
pub(super) fn show_size(bytes: usize) -> String {
    in_largest_unit(bytes as u64, SIZE_UNITS)
}

fn in_largest_unit(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value.is_multiple_of(*factor) && value >= *factor;
    let (name, factor) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{name}", value / factor)
}

/// `true` or `false`.
pub(super) fn boolean(raw: &Raw) -> Result<bool, Wrong> {
    const REMEDY: &str = "write true or false";
    match raw {
        Raw::Boolean(value) => Ok(*value),
        Raw::Untyped(text) if text == "true" => Ok(true),
        Raw::Untyped(text) if text == "false" => Ok(false),
        Raw::Untyped(text) => Err(Wrong::new(format!("{} is no boolean", quoted(text)), REMEDY)),
        _ => Err(raw.is_not("boolean", format!("{REMEDY}, without quotes"))),
    }
}

/// One of a few words.
pub(super) fn choice<T: Copy>(raw: &Raw, names: &[(&str, T)]) -> Result<T, Wrong> {
    let words: Vec<String> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
    let remedy = format!("write one of {}", words.join(", "));
    let text = raw.text("word", &remedy)?;
    let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| Wrong::new(format!("{} is not known", quoted(text)), remedy))
}

/// An IP address and a port. Names are not looked up: which address a name has here is not the file's to say.
pub(super) fn address(raw: &Raw) -> Result<SocketAddr, Wrong> {
    const REMEDY: &str =
        r#"write an IP address and a port, as in "127.0.0.1:8080", "0.0.0.0:8080" or "[::]:8080""#;
    let text = raw.text("address", REMEDY)?;
    text.parse().map_err(|_| Wrong::new(format!("{} is no address to listen on", quoted(text)), REMEDY))
}

/// The path of a route: `/`, or segments of unreserved characters with no slash at the end.
pub(super) fn path(raw: &Raw) -> Result<String, Wrong> {
    const REMEDY: &str = r#"write a path of letters, digits and -._~ that begins with a slash, as in "/mcp""#;
    let text = raw.text("path", REMEDY)?;
    let wrong = |what: &str| Err(Wrong::new(format!("{} {what}", quoted(text)), REMEDY));
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~/".contains(&b);
    if !text.starts_with('/') {
        return wrong("does not begin with a slash");
    }
    if text.len() > 1 && text.ends_with('/') {
        return wrong("ends with a slash, and both spellings are served anyway");
    }
    if !text.bytes().all(unreserved) || text.len() > 256 {
        return wrong("is no plain path");
    }
    let odd = |segment: &str| matches!(segment, "" | "." | "..");
    if text.len() > 1 && text[1..].split('/').any(odd) {
        return wrong("has an empty segment, or one of dots");
    }
    Ok(text.to_owned())
}

/// What names of shared records begin with. Braces would break the rule by which a cluster places a record.
pub(super) fn prefix(raw: &Raw) -> Result<String, Wrong> {
    const REMEDY: &str = r#"write 1 to 64 letters, digits and -._: as in "trunkline""#;
    let text = raw.text("name", REMEDY)?;
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b));
    if plain && (1..=64).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(Wrong::new(format!("{} is no prefix", quoted(text)), REMEDY))
}

/// The URL at which clients reach this server; an empty text is none.
pub(super) fn public_url(raw: &Raw) -> Result<Option<PublicUrl>, Wrong> {
    const REMEDY: &str = r#"write scheme and host, as in "https://mcp.example.com", and the path where a proxy mounts this server"#;
    let text = raw.text("URL", REMEDY)?;
    if text.is_empty() {
        return Ok(None);
    }
    // Not quoted: the text may hold a password, which is one of the mistakes to be told.
    PublicUrl::parse(text).map(Some).map_err(|what| Wrong::new(format!("the URL {what}"), REMEDY))
}

/// A list of origins.
pub(super) fn origins(raw: &Raw) -> Result<Vec<AllowedOrigin>, Wrong> {
    const REMEDY: &str =
        r#"write origins as browsers do, as in ["https://app.example.com"], or ["*"] for all"#;
    items(raw, REMEDY, AllowedOrigin::parse)
}

/// A list of hosts.
pub(super) fn hosts(raw: &Raw) -> Result<Vec<AllowedHost>, Wrong> {
    const REMEDY: &str =
        r#"write host names, with a port or without, as in ["mcp.example.com"], or ["*"] for all"#;
    items(raw, REMEDY, AllowedHost::parse)
}

fn items<T>(raw: &Raw, remedy: &str, parse: fn(&str) -> Result<T, InvalidEntry>) -> Result<Vec<T>, Wrong> {
    let texts = raw.list(remedy)?.into_iter().enumerate();
    let wrong =
        |invalid: InvalidEntry| Wrong::new(format!("{} {}", quoted(&invalid.entry), invalid.reason), remedy);
    texts.map(|(at, text)| parse(text).map_err(|invalid| wrong(invalid).at(at))).collect()
}

/// The backend of the store or the hub. The text may hold a password and is never quoted.
pub(super) fn backend(raw: &Raw) -> Result<Backend, Wrong> {
    const REMEDY: &str = r#"write "memory", or a URL that begins with redis://, rediss://, redis+sentinel:// or redis+cluster://"#;
    let text = raw.text("backend", REMEDY)?;
    if text != "memory" && !text.contains("://") {
        return Err(Wrong::new("the backend is not known", REMEDY));
    }
    Backend::parse(text).map_err(|error| {
        Wrong::new(format!("the {} of this URL is not understood", error.part), error.remedy)
    })
}

/// A file of the operator's. Whether it is there shows when it is used.
pub(super) fn file(raw: &Raw) -> Result<PathBuf, Wrong> {
    const REMEDY: &str = "write the path of a file";
    let text = raw.text("path", REMEDY)?;
    if text.is_empty() { Err(Wrong::new("the path is empty", REMEDY)) } else { Ok(text.into()) }
}

/// Named keys. Nothing of them is quoted but a name that was told from its key.
pub(super) fn ring(raw: &Raw) -> Result<Vec<RingKey>, Wrong> {
    let mut ring: Vec<RingKey> = Vec::new();
    for (at, text) in raw.list(RING_REMEDY)?.into_iter().enumerate() {
        let key = ring_key(text, at).map_err(|wrong| wrong.at(at))?;
        if ring.iter().any(|other| other.name == key.name) {
            let what = format!("two keys are named {:?}", key.name);
            return Err(Wrong::new(what, "give every key a name of its own").at(at));
        }
        if let Some(other) = ring.iter().find(|other| other.bytes == key.bytes) {
            let what = format!("the keys {:?} and {:?} are the same", other.name, key.name);
            return Err(Wrong::new(what, "remove one; a new key comes from `openssl rand -base64 32`").at(at));
        }
        ring.push(key);
    }
    // The ring itself takes no more, see its own bound: every forged id costs one HMAC per key.
    if ring.len() > 16 {
        return Err(Wrong::new(
            format!("{} keys are too many", ring.len()),
            "keep at most 16; a rotation needs two or three",
        ));
    }
    Ok(ring)
}

const RING_REMEDY: &str = r#"write ["NAME:KEY"], where KEY comes from `openssl rand -base64 32`"#;

fn ring_key(text: &str, at: usize) -> Result<RingKey, Wrong> {
    let wrong = |what: String| Wrong::new(what, RING_REMEDY);
    let nth = at + 1;
    let (name, key) = text.split_once(':').ok_or_else(|| wrong(format!("key {nth} has no name")))?;
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !plain || !(1..=32).contains(&name.len()) {
        return Err(wrong(format!("the name of key {nth} is not 1 to 32 letters, digits and -_.")));
    }
    let bytes = base64(key.trim()).ok_or_else(|| wrong(format!("the key {name:?} is not base64")))?;
    let size = bytes.len();
    let bytes = <[u8; KEY_BYTES]>::try_from(bytes);
    let bytes = bytes.map_err(|_| wrong(format!("the key {name:?} has {size} bytes, not {KEY_BYTES}")))?;
    Ok(RingKey { name: name.to_owned(), bytes })
}

/// Either alphabet, padded or not: the programs that make keys differ.
fn base64(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if text.contains(['-', '_']) { alphabet::URL_SAFE } else { alphabet::STANDARD };
    GeneralPurpose::new(&alphabet, config).decode(text).ok()
}

#[cfg(test)]
mod tests;
