//! How far a request has come.

use serde::{Deserialize, Serialize};

use super::number;
use crate::ids::ProgressToken;

/// The parameters of `notifications/progress`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressParams {
    /// Which request, by the token its sender chose.
    pub progress_token: ProgressToken,
    /// How far. Grows with each notification; must be finite.
    #[serde(serialize_with = "number::serialize")]
    pub progress: f64,
    /// How far it will go, if that is known.
    #[serde(serialize_with = "number::serialize_option", skip_serializing_if = "number::unwritable")]
    pub total: Option<f64>,
    /// What is going on, for people (from 2025-03-26).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_whole_and_infinities_not_at_all() {
        let mut params = ProgressParams {
            progress_token: ProgressToken(7.into()),
            progress: 50.0,
            total: Some(0.5),
            message: None,
        };
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(json, r#"{"progressToken":7,"progress":50,"total":0.5}"#);
        params.total = Some(f64::INFINITY);
        assert_eq!(serde_json::to_string(&params).unwrap(), r#"{"progressToken":7,"progress":50}"#);
    }
}
