//! What is said in a handshake, and what its answers mean. Nothing here waits.

use bytes::Bytes;
use serde::Deserialize;
use trunkline_protocol::{
    Revision, RpcError,
    error::code,
    jsonrpc::write_json,
    model::{DiscoverResult, Implementation, InitializeParams, InitializeResult, ServerCapabilities, keys},
    revision::Era,
};

use crate::{call::Call, error::Error, wire::Dialect};

/// What is known of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    pub(crate) implementation: Option<Implementation>,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
}

/// What to do after a server was asked to describe itself.
#[derive(Debug)]
pub(crate) enum Next {
    /// Speak this.
    Speak(Revision),
    /// Open with `initialize`, asking for this.
    Initialize(Revision),
    /// Give up.
    Fail(Error),
}

/// The `initialize` that asks for the dialect's revision.
pub(crate) fn initialize(dialect: &Dialect) -> Call {
    let params = InitializeParams {
        protocol_version: dialect.revision.as_str().to_owned(),
        capabilities: dialect.capabilities.clone(),
        client_info: dialect.implementation.clone(),
    };
    let mut json = Vec::new();
    write_json(&mut json, &params);
    Call::new("initialize", json)
}

/// Reads the answer to `initialize`. `exactly` is the only revision that will do, if there is one.
pub(crate) fn initialized(
    result: &Bytes,
    asked: Revision,
    exactly: bool,
) -> Result<(Revision, Server), Error> {
    let result: InitializeResult = serde_json::from_slice(result).map_err(|error| Error::NotMcp {
        seen: format!("an answer to initialize that does not fit: {error}"),
    })?;
    let offered = Revision::from_name(&result.protocol_version).filter(|it| it.era() == Era::Legacy);
    match offered {
        Some(revision) if revision == asked || !exactly => {
            let server = Server {
                implementation: Some(result.server_info),
                capabilities: result.capabilities,
                instructions: result.instructions,
            };
            Ok((revision, server))
        }
        _ => Err(Error::Unsupported { wanted: asked.to_string(), offered: result.protocol_version }),
    }
}

/// Reads the answer to `server/discover`.
pub(crate) fn discovered(result: &Bytes) -> Result<(Vec<String>, Server), Error> {
    let result: DiscoverResult = serde_json::from_slice(result)
        .map_err(|error| Error::malformed(format!("the answer to server/discover does not fit: {error}")))?;
    let implementation = result.meta.as_ref().and_then(|meta| meta.get(keys::SERVER_INFO));
    let implementation = implementation.and_then(|info| serde_json::from_value(info.clone()).ok());
    let server =
        Server { implementation, capabilities: result.capabilities, instructions: result.instructions };
    Ok((result.supported_versions, server))
}

/// Chooses among what a modern server supports: the newest revision that both have.
pub(crate) fn choose(supported: &[String], wanted: Revision) -> Next {
    let common = Revision::ALL
        .into_iter()
        .rev()
        .find(|revision| supported.iter().any(|name| name == revision.as_str()));
    match common {
        Some(revision) if revision.era() == Era::Modern => Next::Speak(revision),
        Some(revision) => Next::Initialize(revision),
        None => Next::Fail(unsupported(wanted, supported)),
    }
}

pub(crate) fn unsupported(wanted: Revision, supported: &[String]) -> Error {
    // A server decides how many there are, and how long.
    let offered = supported.iter().take(10).map(|name| name.chars().take(20).collect::<String>());
    Error::Unsupported { wanted: wanted.to_string(), offered: offered.collect::<Vec<_>>().join(", ") }
}

/// What an error says that a modern server alone says; `None` if the server may be an older one.
///
/// -32601 is none of them here: a modern server has `server/discover`, and older ones answer it like that.
pub(crate) fn modern_error(error: &RpcError, wanted: Revision) -> Option<Next> {
    match error.code {
        code::UNSUPPORTED_VERSION => Some(choose(&supported(error)?, wanted)),
        code::HEADER_MISMATCH | code::MISSING_CAPABILITY => Some(Next::Fail(error.clone().into())),
        _ => None,
    }
}

/// The versions that the error -32022 lists.
pub(crate) fn supported(error: &RpcError) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data.as_ref().filter(|_| error.code == code::UNSUPPORTED_VERSION)?;
    serde_json::from_str::<Data>(data.get()).ok().map(|data| data.supported)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_newest_common_revision_is_chosen() {
        let wanted = Revision::NEWEST;
        let both = names(&["2024-11-05", "2026-07-28", "2025-11-25", "2027-01-01"]);
        assert!(matches!(choose(&both, wanted), Next::Speak(Revision::V2026_07_28)));
        let old = names(&["2025-06-18", "2025-03-26"]);
        assert!(matches!(choose(&old, wanted), Next::Initialize(Revision::V2025_06_18)));
        let none = names(&["2027-01-01"]);
        let Next::Fail(error) = choose(&none, wanted) else { panic!("there is none") };
        assert!(error.to_string().contains("2027-01-01"), "{error}");
    }

    #[test]
    fn only_modern_errors_mean_a_modern_server() {
        let data = serde_json::json!({ "supported": ["2026-07-28"], "requested": "x" });
        let refused = RpcError::new(code::UNSUPPORTED_VERSION, "no").with_data(&data);
        let wanted = Revision::NEWEST;
        assert!(matches!(modern_error(&refused, wanted), Some(Next::Speak(Revision::V2026_07_28))));
        assert!(matches!(modern_error(&RpcError::new(-32020, "no"), wanted), Some(Next::Fail(_))));
        for code in [-32000, -32600, -32601, -32602, code::UNSUPPORTED_VERSION] {
            assert!(modern_error(&RpcError::new(code, "no"), wanted).is_none(), "{code}");
        }
    }

    #[test]
    fn a_counter_offer_is_taken_unless_one_revision_alone_will_do() {
        let answer = Bytes::from_static(
            br#"{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
        );
        let (revision, _server) = initialized(&answer, Revision::V2025_11_25, false).unwrap();
        assert_eq!(revision, Revision::V2025_03_26);
        let refused = initialized(&answer, Revision::V2025_11_25, true).unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
    }
}
