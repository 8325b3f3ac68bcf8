//! Whether the endpoint is there and speaks the protocol, asked before anything is begun.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use trunkline_client::Error;
use url::Url;

use super::{RunError, session, world::World};
use crate::plan::Plan;

/// The longest wait for the first answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Opens a session and ends it.
///
/// # Errors
/// What kept it from that, and what to change.
pub(super) async fn probe(plan: &Plan) -> Result<(), RunError> {
    let redacted = crate::report::redact_url(&plan.url);
    let url = || redacted.clone();
    let parsed = Url::parse(&plan.url).map_err(|error| error.to_string());
    let fit = parsed.and_then(|parsed| match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(()),
        _ => Err("it begins with http:// or https:// and a host".to_owned()),
    });
    fit.map_err(|reason| RunError::Url { url: url(), reason })?;
    let world = World::new(plan.clone().into(), Instant::now(), CancellationToken::new());
    let builder = session::builder(&world, 0, plan.revision(0)).timeout(plan.timeout.get().min(PATIENCE));
    let client = match builder.connect().await {
        Ok(client) => client,
        Err(error) => {
            let reason = one_line(&error.to_string());
            return Err(match error {
                Error::Connect { .. } | Error::Timeout { .. } | Error::Unsent { .. } => {
                    RunError::Unreachable { url: url(), reason }
                }
                Error::Refused(_) | Error::Token(_) => RunError::Url { url: url(), reason },
                _ => RunError::NotMcp { url: url(), reason },
            });
        }
    };
    // A server that cannot end a session has others to refuse.
    let _told = tokio::time::timeout(world.patience(), client.close()).await;
    Ok(())
}

/// A server's words in one line, without what a terminal would obey.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
