//! The values of HTTP headers: what they mean, and which are refused.
//!
//! | header | read by |
//! | --- | --- |
//! | `Accept` | [`Acceptable::of_accept`] |
//! | `Content-Type` | [`Media::of_content_type`] |
//! | `Origin` | [`OriginPolicy::allows`] |
//! | `Host` | [`HostPolicy::allows`] |
//! | `Last-Event-ID` | [`last_event_id`] |
//! | `Mcp-Name` | [`decode_mirrored`] |
//! | `Mcp-Param-*` | [`annotations`] for which there are, [`check_param`] for what they say |
//!
//! Each is a pure function of bytes, in time linear in their number; how many bytes a header has is bounded where HTTP is
//! read. A header that must not be repeated is the caller's to refuse, except where several values are taken here.

mod accept;
mod annotation;
mod mirrored;
mod origin;
mod param;

pub use accept::{Acceptable, Media};
pub use annotation::{Annotation, Fault, InvalidAnnotation, annotations};
pub use mirrored::{InvalidMirrored, decode_mirrored, encode_mirrored};
pub use origin::{AllowedHost, AllowedOrigin, HostPolicy, InvalidEntry, OriginPolicy};
pub use param::{NotMirrorable, ParamMismatch, check_param, mirror_param};

/// The longest `Last-Event-ID` accepted, in bytes. Ours name a session, a stream and two places, sealed: below 200.
pub const MAX_EVENT_ID: usize = 256;

/// Why a `Last-Event-ID` is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Last-Event-ID must be 1 to {MAX_EVENT_ID} visible ASCII characters")]
pub struct InvalidEventId;

/// Reads a `Last-Event-ID`. The text is opaque, and an attacker may have chosen it.
///
/// # Errors
/// [`InvalidEventId`] if it is empty, too long, or holds anything but visible ASCII.
pub fn last_event_id(value: &[u8]) -> Result<&str, InvalidEventId> {
    let visible = value.iter().all(u8::is_ascii_graphic);
    if value.is_empty() || value.len() > MAX_EVENT_ID || !visible {
        return Err(InvalidEventId);
    }
    std::str::from_utf8(value).map_err(|_| InvalidEventId)
}

/// Takes optional whitespace (RFC 9110, *OWS*) off both ends.
fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// Whether `value` is a token (RFC 9110, *Tokens*).
fn is_token(value: &[u8]) -> bool {
    let tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !value.is_empty() && value.iter().all(tchar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_is_visible_ascii_and_bounded() {
        assert_eq!(last_event_id(b"7-0~!"), Ok("7-0~!"));
        assert_eq!(last_event_id(&[b'x'; 256]).map(str::len), Ok(256));
        for bad in [&b""[..], b"a b", b"a\n", b"\x7f", "é".as_bytes(), &[b'x'; 257]] {
            assert_eq!(last_event_id(bad), Err(InvalidEventId), "{bad:?}");
        }
    }

    #[test]
    fn optional_whitespace_is_space_and_tab() {
        assert_eq!(trim(b" \t a b\t "), b"a b");
        assert_eq!(trim(b" \t "), b"");
        assert_eq!(trim(b"\na"), b"\na");
    }

    #[test]
    fn a_token_has_no_separators() {
        assert!(is_token(b"Region-1_a.b"));
        for bad in [&b""[..], b"a b", b"a:b", b"a\r\n", b"(a)", "é".as_bytes(), b"a\0"] {
            assert!(!is_token(bad), "{bad:?}");
        }
    }
}
