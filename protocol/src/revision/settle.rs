//! Which revision a message claims to speak, decided once, before anything else looks at it.

use super::{Era, Revision};
use crate::{Method, error::RpcError, error::code, params::Meta};

/// The revision a message claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Described in the message itself, and checked.
    Modern(Revision),
    /// One with a handshake; the session knows which. The header, where it came, names it too.
    Legacy(Option<Revision>),
}

/// Why no revision could be settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dispute {
    /// A request of the modern era without a member of `_meta` that it must have.
    MissingMeta(&'static str),
    /// The header is missing or names another version than the body.
    HeaderMismatch(String),
    /// The version is not served to messages that describe themselves.
    Unsupported {
        /// The version asked for.
        requested: String,
    },
    /// The header of a message from the era of sessions names no version that is served.
    UnknownHeader {
        /// What the header says.
        requested: String,
    },
}

/// Settles the revision from the `MCP-Protocol-Version` header, the body's `_meta`, and the method.
///
/// A message is modern if its `_meta` carries a protocol version, if the header names a modern revision, or if the
/// method exists in the modern era only. `header` is `None` on transports without headers, where `has_headers` is
/// false and the body alone decides (2026-07-28 *Versioning* and *Streamable HTTP*, Protocol Version Header).
///
/// # Errors
/// [`Dispute`], which [`Dispute::to_rpc`] turns into the answer.
pub fn settle(
    header: Option<&str>,
    meta: Option<&Meta<'_>>,
    method: Option<Method>,
    has_headers: bool,
) -> Result<Claim, Dispute> {
    let in_body = meta.and_then(|meta| meta.protocol_version.as_ref()).map(|version| &*version.0);
    let in_header = header.and_then(Revision::from_name);
    let modern = in_body.is_some()
        || in_header.is_some_and(|revision| revision.era() == Era::Modern)
        || matches!(method, Some(Method::ServerDiscover | Method::SubscriptionsListen | Method::TasksUpdate));
    if !modern {
        return match (header, in_header) {
            // `initialize` negotiates from its body, whatever the header of an eager client says.
            (Some(_), None) if method == Some(Method::Initialize) => Ok(Claim::Legacy(None)),
            (Some(requested), None) => Err(Dispute::UnknownHeader { requested: requested.to_owned() }),
            (_, known) => Ok(Claim::Legacy(known)),
        };
    }
    settle_modern(header, in_body, meta, has_headers)
}

fn settle_modern(
    header: Option<&str>,
    in_body: Option<&str>,
    meta: Option<&Meta<'_>>,
    has_headers: bool,
) -> Result<Claim, Dispute> {
    let Some(in_body) = in_body else {
        return Err(Dispute::MissingMeta("io.modelcontextprotocol/protocolVersion"));
    };
    match header {
        None if has_headers => {
            let reason = "the header MCP-Protocol-Version is missing".to_owned();
            return Err(Dispute::HeaderMismatch(reason));
        }
        Some(header) if header != in_body => {
            let reason = format!("the header MCP-Protocol-Version says {header:?}, the body {in_body:?}");
            return Err(Dispute::HeaderMismatch(reason));
        }
        _ => {}
    }
    let Some(revision) = Revision::from_name(in_body).filter(|revision| revision.era() == Era::Modern) else {
        return Err(Dispute::Unsupported { requested: in_body.to_owned() });
    };
    if meta.is_none_or(|meta| meta.client_capabilities.is_none()) {
        return Err(Dispute::MissingMeta("io.modelcontextprotocol/clientCapabilities"));
    }
    Ok(Claim::Modern(revision))
}

// === impl Dispute ===

impl Dispute {
    /// The versions that a message may describe itself with.
    pub const SELF_DESCRIBED: [&'static str; 1] = [Revision::V2026_07_28.as_str()];

    /// The answer: always HTTP 400.
    #[must_use]
    pub fn to_rpc(&self) -> RpcError {
        match self {
            Self::MissingMeta(key) => {
                RpcError::invalid_params(format!("`params._meta` lacks the required {key:?}"))
            }
            Self::HeaderMismatch(reason) => RpcError::new(code::HEADER_MISMATCH, reason),
            Self::Unsupported { requested } => {
                let message = format!("the protocol version {requested:?} is not supported");
                RpcError::new(code::UNSUPPORTED_VERSION, message).with_data(
                    &serde_json::json!({"supported": Self::SELF_DESCRIBED, "requested": requested}),
                )
            }
            Self::UnknownHeader { requested } => {
                let versions = Revision::ALL.map(Revision::as_str).join(", ");
                RpcError::invalid_request(format!(
                    "the header MCP-Protocol-Version names {requested:?}; served are {versions}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, read};
    use serde_json::value::RawValue;

    const FULL: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

    fn settled(header: Option<&str>, params: &str, method: Method) -> Result<Claim, Dispute> {
        let raw = RawValue::from_string(params.to_owned()).unwrap();
        let params: Params<'_> = read(&raw, "params").unwrap();
        settle(header, params.meta.as_ref(), Some(method), true)
    }

    fn with_version(version: &str) -> String {
        FULL.replace("2026-07-28", version)
    }

    #[test]
    fn a_request_that_describes_itself_is_modern() {
        assert_eq!(
            settled(Some("2026-07-28"), FULL, Method::ToolsCall),
            Ok(Claim::Modern(Revision::V2026_07_28))
        );
        // Even one that only the other era has: the method table refuses it later, as an unknown method.
        assert_eq!(
            settled(Some("2026-07-28"), FULL, Method::Initialize),
            Ok(Claim::Modern(Revision::V2026_07_28))
        );
    }

    #[test]
    fn without_metadata_a_request_is_of_the_session_era() {
        assert_eq!(settled(None, "{}", Method::ToolsCall), Ok(Claim::Legacy(None)));
        assert_eq!(
            settled(Some("2025-06-18"), "{}", Method::ToolsCall),
            Ok(Claim::Legacy(Some(Revision::V2025_06_18)))
        );
        assert_eq!(
            settled(Some("1999-01-01"), "{}", Method::ToolsCall),
            Err(Dispute::UnknownHeader { requested: "1999-01-01".into() })
        );
        assert_eq!(settled(Some("1999-01-01"), "{}", Method::Initialize), Ok(Claim::Legacy(None)));
    }

    #[test]
    fn required_metadata_is_missed_before_headers_are() {
        for header in [None, Some("2026-07-28")] {
            assert!(matches!(settled(header, "{}", Method::ServerDiscover), Err(Dispute::MissingMeta(_))));
        }
        let without_capabilities = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert_eq!(
            settled(Some("2026-07-28"), without_capabilities, Method::ToolsList),
            Err(Dispute::MissingMeta("io.modelcontextprotocol/clientCapabilities"))
        );
    }

    #[test]
    fn header_and_body_must_agree() {
        assert!(matches!(settled(None, FULL, Method::ToolsList), Err(Dispute::HeaderMismatch(_))));
        assert!(matches!(
            settled(Some("2026-07-28"), &with_version("v999.0.0"), Method::ToolsList),
            Err(Dispute::HeaderMismatch(_))
        ));
        assert!(matches!(
            settled(Some("2025-11-25"), FULL, Method::ToolsList),
            Err(Dispute::HeaderMismatch(_))
        ));
    }

    #[test]
    fn an_unknown_version_is_told_which_are_served() {
        let dispute =
            settled(Some("v999.0.0"), &with_version("v999.0.0"), Method::ServerDiscover).unwrap_err();
        let error = dispute.to_rpc();
        assert_eq!(error.code, code::UNSUPPORTED_VERSION);
        assert_eq!(error.data.unwrap().get(), r#"{"requested":"v999.0.0","supported":["2026-07-28"]}"#);
    }

    #[test]
    fn without_headers_the_body_alone_decides() {
        let raw = RawValue::from_string(FULL.to_owned()).unwrap();
        let params: Params<'_> = read(&raw, "params").unwrap();
        assert_eq!(
            settle(None, params.meta.as_ref(), Some(Method::ToolsList), false),
            Ok(Claim::Modern(Revision::V2026_07_28))
        );
    }
}
