//! Whom to speak to, and as whom: the URL, revisions, headers and tokens.

use std::{fs, path::Path};

use url::{ParseError, Url};

use super::{Mistakes, no_such};
use crate::{plan::RevisionChoice, report::redact_url};

/// Headers that the client writes itself.
const OWN: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// The largest share of one revision: the clients' order repeats after all shares, which a run has to be longer than.
const SHARES: u32 = 1000;

// === impl Mistakes ===

impl Mistakes {
    pub(super) fn url(&mut self, text: &str) {
        let begins = "it begins with http:// or https:// and a host";
        let reason = match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => return,
            Ok(_) | Err(ParseError::RelativeUrlWithoutBase) => begins.to_owned(),
            Err(error) => error.to_string(),
        };
        let shown = redact_url(text);
        let remedy = "write one as http://127.0.0.1:8080/mcp";
        self.add("--url", format!("{shown:?} is no URL of an MCP endpoint: {reason}; {remedy}"));
    }

    pub(super) fn revisions(&mut self, parts: &[String]) -> Vec<(RevisionChoice, u32)> {
        let mut revisions = Vec::new();
        for part in parts.iter().flat_map(|parts| parts.split(',')) {
            let (name, share) = part.split_once('=').unwrap_or((part, "1"));
            let (name, share) = (name.trim(), share.trim());
            let revision = RevisionChoice::ALL.into_iter().find(|revision| revision.as_str() == name);
            let share = share.parse::<u32>().ok().filter(|share| (1..=SHARES).contains(share));
            match (revision, share) {
                (Some(revision), Some(share)) => revisions.push((revision, share)),
                (None, _) => {
                    self.add("--revision", no_such(name, &RevisionChoice::ALL.map(RevisionChoice::as_str)));
                }
                (_, None) => {
                    let text =
                        format!("the share of {name} is a whole number from 1 to {SHARES}, as {name}=3");
                    self.add("--revision", text);
                }
            }
        }
        revisions
    }

    /// Headers by name and value. No value is told: it may be a secret.
    pub(super) fn headers(&mut self, texts: &[String]) -> Vec<(String, String)> {
        texts.iter().filter_map(|text| self.header(text)).collect()
    }

    fn header(&mut self, text: &str) -> Option<(String, String)> {
        let pair = text.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = pair.filter(|(name, _)| is_name(name)) else {
            self.add("--header", "one is not of the form 'name: value'");
            return None;
        };
        if OWN.contains(&name.to_ascii_lowercase().as_str()) {
            self.add("--header", format!("{name} is written by each client itself; leave it out"));
            return None;
        }
        if value.chars().any(char::is_control) {
            self.add("--header", format!("the value of {name} holds a control character; leave it out"));
            return None;
        }
        Some((name.to_owned(), value.to_owned()))
    }

    /// The tokens of a file, one in a line. No token is told.
    pub(super) fn bearers(&mut self, path: &Path, headers: &[(String, String)]) -> Vec<String> {
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            self.add("--bearer-file", "--header gives an authorization, too; leave out one of the two");
        }
        let shown = path.display();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                self.add("--bearer-file", format!("cannot read {shown}: {error}; name a file of tokens"));
                return Vec::new();
            }
        };
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, token)| !token.is_empty());
        let (tokens, wrong): (Vec<_>, Vec<_>) =
            lines.partition(|(_, token)| token.bytes().all(|byte| byte.is_ascii_graphic()));
        if let Some((line, _)) = wrong.first() {
            let text =
                format!("line {} of {shown} is no token; write one in a line, without spaces", line + 1);
            self.add("--bearer-file", text);
        } else if tokens.is_empty() {
            self.add("--bearer-file", format!("{shown} has no token in it; write one in a line"));
        }
        tokens.into_iter().map(|(_, token)| token.to_owned()).collect()
    }
}

/// Whether a text can be the name of a header.
fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(letter)
}
