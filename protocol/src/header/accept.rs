//! `Accept` and `Content-Type` (RFC 9110, *Content Negotiation*).

use super::trim;

/// What an answer can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `application/json`
    Json,
    /// `text/event-stream`
    EventStream,
}

/// Which of what we can write the client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptable {
    /// `application/json`
    pub json: bool,
    /// `text/event-stream`
    pub sse: bool,
}

/// What the most specific range so far says of one media type.
#[derive(Clone, Copy, Default)]
struct Verdict {
    specificity: u8,
    accepted: bool,
}

/// The pieces of a header between separators. Those inside quoted strings do not separate; a quoted string that is not
/// closed goes to the end.
struct Pieces<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

// === impl Media ===

impl Media {
    /// The media type that goes by this name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::EventStream => "text/event-stream",
        }
    }

    /// What a `Content-Type` says, if it is one of the two. Case and parameters do not matter, except that a `charset`
    /// must be UTF-8: neither format knows another.
    #[must_use]
    pub fn of_content_type(value: &[u8]) -> Option<Self> {
        // What clients of this protocol send, word for word.
        if value == b"application/json" {
            return Some(Self::Json);
        }
        let mut pieces = pieces(value, b';');
        let name = pieces.next()?;
        let media = [Self::Json, Self::EventStream].into_iter().find(|media| media.is_named(name))?;
        let utf8 = pieces.filter_map(|piece| parameter(piece, b"charset")).all(|charset| {
            let charset =
                charset.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(charset);
            charset.eq_ignore_ascii_case(b"utf-8")
        });
        utf8.then_some(media)
    }

    fn is_named(self, name: &[u8]) -> bool {
        self.as_str().as_bytes().eq_ignore_ascii_case(name)
    }

    /// How closely a media range fits: 3 by name, 2 by `type/*`, 1 by `*/*`, 0 not at all.
    fn specificity(self, range: &[u8]) -> u8 {
        let kind = match self {
            Self::Json => &b"application/*"[..],
            Self::EventStream => b"text/*",
        };
        match range {
            _ if self.is_named(range) => 3,
            _ if kind.eq_ignore_ascii_case(range) => 2,
            b"*/*" => 1,
            _ => 0,
        }
    }
}

/// What nearly every client of this protocol sends, word for word. Known without being read.
const USUAL: [&[u8]; 3] =
    [b"application/json, text/event-stream", b"text/event-stream, application/json", b"*/*"];

// === impl Acceptable ===

impl Acceptable {
    /// Everything: what a client takes that does not say.
    pub const ANY: Self = Self { json: true, sse: true };

    /// Reads the values of all `Accept` headers of a request; none or empty ones accept anything.
    ///
    /// The most specific range that fits a media type decides: `q=0` refuses, any other weight accepts, and of equally
    /// specific ones that disagree the accepting one counts. Other parameters are not looked at. Weights are no order of
    /// preference here, since what an answer is written in follows from whether it streams. What is not a media
    /// range, such as the lone `*` some libraries send, is skipped.
    #[must_use]
    pub fn of_accept<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (Some(value), None) if USUAL.contains(&value) => Self::ANY,
            (first, second) => Self::read(first.into_iter().chain(second).chain(values)),
        }
    }

    fn read<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let (mut json, mut sse, mut said_anything) = (Verdict::default(), Verdict::default(), false);
        for member in values.flat_map(|value| pieces(value, b',')) {
            if member.is_empty() {
                continue;
            }
            said_anything = true;
            if let Some((range, accepted)) = media_range(member) {
                json.hear(Media::Json.specificity(range), accepted);
                sse.hear(Media::EventStream.specificity(range), accepted);
            }
        }
        if said_anything { Self { json: json.accepted, sse: sse.accepted } } else { Self::ANY }
    }

    /// Whether nothing we can write is acceptable.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        !self.json && !self.sse
    }
}

// === impl Verdict ===

impl Verdict {
    fn hear(&mut self, specificity: u8, accepted: bool) {
        if specificity > self.specificity {
            *self = Self { specificity, accepted };
        } else if specificity == self.specificity && specificity > 0 {
            self.accepted |= accepted;
        }
    }
}

/// A member of `Accept`: its range, and whether its weight is above zero.
fn media_range(member: &[u8]) -> Option<(&[u8], bool)> {
    let mut pieces = pieces(member, b';');
    let range = pieces.next()?;
    let accepted = match pieces.find_map(|piece| parameter(piece, b"q")) {
        Some(weight) => is_above_zero(weight)?,
        None => true,
    };
    Some((range, accepted))
}

/// A weight is digits with at most one point. More liberal than the grammar, since `.2` and `1.0000` are met.
fn is_above_zero(weight: &[u8]) -> Option<bool> {
    let digits = weight.iter().filter(|byte| byte.is_ascii_digit()).count();
    let points = weight.iter().filter(|byte| **byte == b'.').count();
    if digits == 0 || points > 1 || digits + points != weight.len() {
        return None;
    }
    Some(weight.iter().any(|byte| matches!(byte, b'1'..=b'9')))
}

/// The value of a parameter, if it has this name.
fn parameter<'a>(piece: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let equals = memchr::memchr(b'=', piece)?;
    trim(&piece[..equals]).eq_ignore_ascii_case(name).then(|| trim(&piece[equals + 1..]))
}

// === impl Pieces ===

fn pieces(value: &[u8], separator: u8) -> Pieces<'_> {
    Pieces { rest: Some(value), separator }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    /// Without the whitespace around it; possibly empty.
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let (mut quoted, mut escaped) = (false, false);
        let end = rest.iter().position(|byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ => return !quoted && *byte == self.separator,
            }
            false
        });
        self.rest = end.map(|end| &rest[end + 1..]);
        Some(trim(&rest[..end.unwrap_or(rest.len())]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Acceptable = Acceptable { json: true, sse: false };
    const SSE: Acceptable = Acceptable { json: false, sse: true };
    const NOTHING: Acceptable = Acceptable { json: false, sse: false };

    fn accept(value: &str) -> Acceptable {
        Acceptable::of_accept([value.as_bytes()])
    }

    #[test]
    fn who_says_nothing_takes_anything() {
        assert_eq!(Acceptable::of_accept([]), Acceptable::ANY);
        assert_eq!(Acceptable::of_accept(None), Acceptable::ANY);
        for empty in ["", " ", ",", " , ,"] {
            assert_eq!(accept(empty), Acceptable::ANY, "{empty:?}");
        }
    }

    #[test]
    fn ranges_by_name_by_type_and_by_anything() {
        let cases = [
            ("application/json, text/event-stream", Acceptable::ANY),
            ("application/json", JSON),
            ("text/event-stream", SSE),
            ("APPLICATION/JSON", JSON),
            ("application/json; charset=utf-8", JSON),
            ("application/*", JSON),
            ("Text/*", SSE),
            ("*/*", Acceptable::ANY),
            ("text/html, image/png", NOTHING),
            ("application/jsonx, application/problem+json", NOTHING),
        ];
        for (value, expected) in cases {
            assert_eq!(accept(value), expected, "{value}");
        }
        assert!(NOTHING.is_nothing() && !JSON.is_nothing());
    }

    #[test]
    fn several_headers_are_one_list() {
        let values = [&b"application/json"[..], b"text/event-stream"];
        assert_eq!(Acceptable::of_accept(values), Acceptable::ANY);
    }

    #[test]
    fn the_most_specific_range_decides_and_zero_refuses() {
        let cases = [
            ("*/*, text/event-stream;q=0", JSON),
            ("text/event-stream;q=0, */*", JSON),
            ("application/*;q=0, */*;q=0.1", SSE),
            ("application/*;q=0, application/json", JSON),
            ("*/*;q=0", NOTHING),
            ("application/json;q=0.000", NOTHING),
            ("application/json;q=0.001", JSON),
            ("application/json ; Q=0 , */*", SSE),
            ("application/json;q=0, application/json;q=0.5", JSON),
            ("application/json;q=0.5, application/json;q=0", JSON),
            ("text/html, image/gif, *; q=.2, */*; q=.2", Acceptable::ANY),
        ];
        for (value, expected) in cases {
            assert_eq!(accept(value), expected, "{value}");
        }
    }

    #[test]
    fn malformed_members_are_skipped() {
        for bad in [
            "json",
            "*",
            "*/json",
            "application/",
            "/json",
            "application/json/x",
            "a b/c",
            "text/event-stream;q=x",
        ] {
            assert_eq!(accept(bad), NOTHING, "{bad}");
            assert_eq!(accept(&format!("{bad}, application/json")), JSON, "{bad}");
        }
        for weight in ["", "-1", "1.1.1", "a", "."] {
            assert_eq!(accept(&format!("*/*;q={weight}")), NOTHING, "{weight}");
        }
        assert_eq!(Acceptable::of_accept([&b"\xff\xfe, application/json"[..]]), JSON);
    }

    #[test]
    fn separators_in_quoted_strings_do_not_separate() {
        assert_eq!(accept(r#"text/html;a="x, application/json""#), NOTHING);
        assert_eq!(accept(r#"application/json;a="x;q=0""#), JSON);
        assert_eq!(accept(r#"text/html;a="\", application/json", text/event-stream"#), SSE);
        assert_eq!(accept(r#"text/html;a="never closed, application/json"#), NOTHING);
    }

    #[test]
    fn a_content_type_is_known_with_its_parameters_in_any_case() {
        let json = [
            "application/json",
            "Application/JSON",
            " application/json ",
            "application/json;charset=utf-8",
            "application/json; Charset=\"UTF-8\"",
            "application/json;",
            "application/json; v=\"a;charset=latin1\"",
        ];
        for value in json {
            assert_eq!(Media::of_content_type(value.as_bytes()), Some(Media::Json), "{value}");
        }
        let stream = b"text/event-stream; charset=utf-8";
        assert_eq!(Media::of_content_type(stream), Some(Media::EventStream));
        let others = [
            "",
            "json",
            "text/plain",
            "application/json-rpc",
            "application/jsonx",
            "application/*",
            "application/json, text/plain",
            "application/json;charset=latin1",
            "application/json;charset=",
            "application/json;charset=utf-8;charset=utf-16",
        ];
        for value in others {
            assert_eq!(Media::of_content_type(value.as_bytes()), None, "{value}");
        }
    }
}
