//! The writing of mirrored values (2026-07-28 Streamable HTTP, *Value Encoding*).

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::trim;

const PREFIX: &[u8] = b"=?base64?";
const SUFFIX: &[u8] = b"?=";

/// Why a mirrored value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMirrored {
    /// A character that a header must not hold.
    #[error("the header holds characters other than visible ASCII, space and tab")]
    Characters,
    /// The text between the markers.
    #[error("the header is marked as Base64 and is not: standard alphabet, padded")]
    Base64,
    /// What the text between the markers decodes to.
    #[error("the header is marked as Base64 and does not decode to UTF-8")]
    Utf8,
}

/// Reads the value of `Mcp-Name` or `Mcp-Param-*`: what lies between `=?base64?` and `?=` is decoded, and anything that
/// lacks one of the two is what it says. Whitespace around the value is not part of it.
///
/// # Errors
/// [`InvalidMirrored`], to be answered as a header mismatch.
pub fn decode_mirrored(value: &[u8]) -> Result<Cow<'_, str>, InvalidMirrored> {
    let value = trim(value);
    if !value.iter().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t')) {
        return Err(InvalidMirrored::Characters);
    }
    let Some(coded) = value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return std::str::from_utf8(value).map(Cow::Borrowed).map_err(|_| InvalidMirrored::Characters);
    };
    let bytes = STANDARD.decode(coded).map_err(|_| InvalidMirrored::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| InvalidMirrored::Utf8)
}

/// Writes a mirrored value. Plain where it is visible ASCII with spaces inside, and could not be taken for a marked one.
#[must_use]
pub fn encode_mirrored(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    // Tabs are allowed in a header, yet middleboxes turn them into spaces.
    let plain = bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    let padded = bytes.first() == Some(&b' ') || bytes.last() == Some(&b' ');
    // Wider than what is read as marked: `=?base64?=` begins and ends like one, and readers differ.
    let looks_marked = bytes.starts_with(PREFIX) && bytes.ends_with(SUFFIX);
    if plain && !padded && !looks_marked {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        let examples = [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ];
        for (text, header) in examples {
            assert_eq!(encode_mirrored(text), header);
            assert_eq!(decode_mirrored(header.as_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn plain_is_visible_ascii_with_spaces_inside() {
        for plain in ["", "a b", "=?base64?abc", "abc?=", "=?BASE64?abc?="] {
            assert_eq!(encode_mirrored(plain), plain);
        }
        for coded in ["\t", "a\tb", " a", "a ", "a\u{7f}", "=?base64?=", "=?base64??="] {
            assert!(encode_mirrored(coded).starts_with("=?base64?"), "{coded:?}");
        }
    }

    #[test]
    fn without_both_markers_a_value_is_literal() {
        for literal in
            ["SGVsbG8=", "=?base64?SGVsbG8=", "SGVsbG8=?=", "=?Base64?SGVsbG8=?=", "=?base64?=", ""]
        {
            assert_eq!(decode_mirrored(literal.as_bytes()).unwrap(), literal);
        }
        assert_eq!(decode_mirrored(b"=?base64??=").unwrap(), "");
    }

    #[test]
    fn whitespace_around_the_value_is_not_part_of_it() {
        assert_eq!(decode_mirrored(b" \tadd \t").unwrap(), "add");
        assert_eq!(decode_mirrored(b" =?base64?SGVsbG8=?= ").unwrap(), "Hello");
        assert_eq!(decode_mirrored(b"=?base64?IGEg?=").unwrap(), " a ", "what was coded is");
    }

    #[test]
    fn base64_is_strict() {
        // Padding missing, too much of it, foreign alphabet, whitespace, bits left over.
        for bad in ["SGVsbG8", "SGVsbG8==", "SGVs!!!bG8=", "_-__", "SGVs bG8=", "SGVsbG9=", "="] {
            let header = format!("=?base64?{bad}?=");
            assert_eq!(decode_mirrored(header.as_bytes()), Err(InvalidMirrored::Base64), "{bad}");
        }
        assert_eq!(decode_mirrored(b"=?base64?/w==?="), Err(InvalidMirrored::Utf8));
    }

    #[test]
    fn characters_a_header_must_not_hold_are_refused() {
        for bad in [&b"a\nb"[..], b"a\0", b"a\x7f", "é".as_bytes(), b"\xff", b"=?base64?\n?="] {
            assert_eq!(decode_mirrored(bad), Err(InvalidMirrored::Characters), "{bad:?}");
        }
        assert_eq!(decode_mirrored(b"a\tb").unwrap(), "a\tb");
    }

    proptest! {
        #[test]
        fn every_text_survives_and_travels_as_visible_ascii(text in any::<String>()) {
            let header = encode_mirrored(&text);
            prop_assert!(header.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
            prop_assert_eq!(decode_mirrored(header.as_bytes()).unwrap(), text.as_str());
        }

        #[test]
        fn text_like_a_marked_value_survives(text in "(=\\?base64\\?)?[a-zA-Z=? ]{0,8}(\\?=)?") {
            let header = encode_mirrored(&text);
            prop_assert_eq!(decode_mirrored(header.as_bytes()).unwrap(), text.as_str());
        }
    }
}
