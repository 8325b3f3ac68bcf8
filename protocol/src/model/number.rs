//! Numbers as a person would write them.

use serde::Serializer;

/// 2^53: whole numbers up to here are exact in an `f64`, and in the JavaScript of most peers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Writes `50.0` as `50`: some peers read `50.0` into an integer and fail.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within the exact range")]
        return serializer.serialize_i64(*number as i64);
    }
    serializer.serialize_f64(*number)
}

/// The same for a number that may be absent.
pub(super) fn serialize_option<S: Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serialize(number, serializer),
        None => serializer.serialize_none(),
    }
}

/// JSON has no infinity: such a number is left out rather than written as `null`.
pub(super) fn unwritable(number: &Option<f64>) -> bool {
    number.is_none_or(|number| !number.is_finite())
}
