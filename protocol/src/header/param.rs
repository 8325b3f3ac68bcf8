//! `Mcp-Param-*` against the argument it mirrors (2026-07-28 Streamable HTTP, *Server Behavior for Custom Headers*).

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{InvalidMirrored, decode_mirrored, encode_mirrored};

/// The largest integer that every reader of JSON holds exactly: 2^53 - 1.
const SAFE: i64 = (1 << 53) - 1;

/// How a header and the argument it mirrors disagree. To be answered with 400 and a header mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamMismatch {
    /// The argument has a value and the header is absent.
    #[error("the header is missing, and the argument it mirrors has a value")]
    Missing,
    /// The header is there and the argument is absent or null.
    #[error("the header is present, and the argument it mirrors has no value")]
    Unexpected,
    /// They say different things.
    #[error("the header differs from the argument it mirrors")]
    Differs,
    /// The header cannot be read.
    #[error(transparent)]
    Header(#[from] InvalidMirrored),
    /// The argument cannot be mirrored at all.
    #[error(transparent)]
    Argument(#[from] NotMirrorable),
}

/// The value is no string, boolean, or integer that every reader of JSON holds exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only strings, booleans and integers from -(2^53 - 1) to 2^53 - 1 are mirrored in a header")]
pub struct NotMirrorable;

/// Checks the value of a header against the argument it mirrors, `None` being absence.
///
/// Strings and booleans compare exactly, integers by value: `42.0` is `42`. A null argument counts as absent. A header
/// that came twice is the caller's to refuse.
///
/// # Errors
/// [`ParamMismatch`].
pub fn check_param(header: Option<&[u8]>, argument: Option<&Value>) -> Result<(), ParamMismatch> {
    let (header, argument) = match (header, argument.filter(|value| !value.is_null())) {
        (None, None) => return Ok(()),
        (None, Some(_)) => return Err(ParamMismatch::Missing),
        (Some(_), None) => return Err(ParamMismatch::Unexpected),
        (Some(header), Some(argument)) => (decode_mirrored(header)?, argument),
    };
    let same = match argument {
        Value::String(text) => *text == header,
        Value::Bool(flag) => header == if *flag { "true" } else { "false" },
        Value::Number(number) => integer(&header) == Some(safe_integer(number)?),
        _ => return Err(NotMirrorable.into()),
    };
    if same { Ok(()) } else { Err(ParamMismatch::Differs) }
}

/// The header for an argument; `None` where it must be absent.
///
/// # Errors
/// [`NotMirrorable`].
pub fn mirror_param(argument: Option<&Value>) -> Result<Option<Cow<'_, str>>, NotMirrorable> {
    Ok(match argument {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(encode_mirrored(text)),
        Some(Value::Bool(flag)) => Some(Cow::Borrowed(if *flag { "true" } else { "false" })),
        Some(Value::Number(number)) => Some(Cow::Owned(safe_integer(number)?.to_string())),
        Some(Value::Array(_) | Value::Object(_)) => return Err(NotMirrorable),
    })
}

/// A JSON number with an integer's value: `42`, `42.0`, `4.2e1`.
#[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, which i64 holds exactly")]
fn safe_integer(number: &Number) -> Result<i64, NotMirrorable> {
    let whole = match number.as_i64() {
        Some(whole) => whole,
        // Bounded before the cast; beyond 2^53 a float no longer says which integer was meant.
        None => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() <= SAFE as f64 => float as i64,
            _ => return Err(NotMirrorable),
        },
    };
    if (-SAFE..=SAFE).contains(&whole) { Ok(whole) } else { Err(NotMirrorable) }
}

/// A decimal integer in a header, with or without a fraction of zeros. Exact, unlike a reading as floating point, where
/// `9007199254740991.4` would be an integer. No exponents: the specification writes decimals.
fn integer(text: &str) -> Option<i64> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    if fraction.is_some_and(|zeros| zeros.is_empty() || zeros.bytes().any(|digit| digit != b'0')) {
        return None;
    }
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let canonical = digits == "0" || !digits.starts_with('0');
    if !canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(header: &str, argument: &Value) -> Result<(), ParamMismatch> {
        check_param(Some(header.as_bytes()), Some(argument))
    }

    #[test]
    fn a_value_needs_its_header_and_no_value_needs_none() {
        let text = json!("test-value");
        assert_eq!(check_param(None, Some(&text)), Err(ParamMismatch::Missing));
        for none in [None, Some(&Value::Null)] {
            assert_eq!(check_param(None, none), Ok(()));
            assert_eq!(check_param(Some(b"null"), none), Err(ParamMismatch::Unexpected));
            assert_eq!(check_param(Some(b""), none), Err(ParamMismatch::Unexpected));
        }
    }

    #[test]
    fn strings_compare_exactly_after_decoding() {
        assert_eq!(check("=?base64?SGVsbG8=?=", &json!("Hello")), Ok(()));
        assert_eq!(check("SGVsbG8=", &json!("SGVsbG8=")), Ok(()));
        assert_eq!(check("=?base64?SGVsbG8=", &json!("=?base64?SGVsbG8=")), Ok(()));
        assert_eq!(check("", &json!("")), Ok(()));
        for other in ["eu", "US", "us ", ""] {
            let header = encode_mirrored(other);
            assert_eq!(check(&header, &json!("us")), Err(ParamMismatch::Differs), "{other:?}");
        }
        for bad in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?="] {
            let error = check(bad, &json!("Hello")).unwrap_err();
            assert_eq!(error, ParamMismatch::Header(InvalidMirrored::Base64), "{bad}");
        }
    }

    #[test]
    fn a_string_of_digits_is_a_string() {
        assert_eq!(check("42.0", &json!("42")), Err(ParamMismatch::Differs));
        assert_eq!(check("42", &json!("42")), Ok(()));
    }

    #[test]
    fn integers_compare_by_value() {
        let equal = [
            ("42", "42"),
            ("42.0", "42"),
            ("42", "42.0"),
            ("-7", "-7"),
            ("0", "-0"),
            ("-0", "0"),
            ("42", "4.2e1"),
        ];
        for (header, argument) in equal {
            let argument = serde_json::from_str(argument).unwrap();
            assert_eq!(check(header, &argument), Ok(()), "{header} {argument}");
        }
        for different in ["43", "042", "+42", "42.", "42.1", "4.2e1", " 42x", "0x2a", "", ".0", "-", "4٢"] {
            let header = encode_mirrored(different);
            assert_eq!(check(&header, &json!(42)), Err(ParamMismatch::Differs), "{different:?}");
        }
    }

    #[test]
    fn integers_beyond_the_safe_range_are_refused_and_never_rounded() {
        let (most, beyond) = (json!(9_007_199_254_740_991_i64), json!(9_007_199_254_740_992_i64));
        assert_eq!(check("9007199254740991", &most), Ok(()));
        assert_eq!(check("-9007199254740991", &json!(-9_007_199_254_740_991_i64)), Ok(()));
        assert_eq!(check("9007199254740991.4", &most), Err(ParamMismatch::Differs));
        assert_eq!(check("9007199254740990.99999999", &most), Err(ParamMismatch::Differs));
        let refused = Err(ParamMismatch::Argument(NotMirrorable));
        assert_eq!(check("9007199254740992", &beyond), refused);
        assert_eq!(check("18446744073709551615", &json!(u64::MAX)), refused);
        assert_eq!(check("1e300", &json!(1e300)), refused);
        assert_eq!(check("-9223372036854775808", &json!(i64::MIN)), refused);
    }

    #[test]
    fn booleans_are_lowercase() {
        assert_eq!(check("true", &json!(true)), Ok(()));
        assert_eq!(check("false", &json!(false)), Ok(()));
        for different in ["True", "TRUE", "1", "false"] {
            assert_eq!(check(different, &json!(true)), Err(ParamMismatch::Differs), "{different}");
        }
    }

    #[test]
    fn nothing_else_can_be_mirrored() {
        for argument in [json!([]), json!({}), json!(1.5)] {
            assert_eq!(check("1.5", &argument), Err(ParamMismatch::Argument(NotMirrorable)), "{argument}");
            assert_eq!(mirror_param(Some(&argument)), Err(NotMirrorable), "{argument}");
        }
    }

    #[test]
    fn what_is_mirrored_passes_the_check() {
        for argument in [json!("é"), json!(""), json!(-3), json!(5.0), json!(true), json!(false)] {
            let header = mirror_param(Some(&argument)).unwrap().unwrap();
            assert_eq!(check(&header, &argument), Ok(()), "{argument}");
        }
        assert_eq!(mirror_param(Some(&json!(5.0))).unwrap().unwrap(), "5");
        assert_eq!(mirror_param(Some(&Value::Null)), Ok(None));
        assert_eq!(mirror_param(None), Ok(None));
    }
}
