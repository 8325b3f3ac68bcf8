//! The command line: `--transport T --era E [--expect REVISION] (--url URL | -- COMMAND...)`.

use anyhow::{Context, Result, bail, ensure};

/// How to reach the server. HTTP+SSE is absent: this SDK has no client for it.
#[derive(Clone, Debug)]
pub(crate) enum Transport {
    Http(String),
    Stdio(Vec<String>),
}

/// Which lifecycle the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What the runner asks for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) transport: Transport,
    pub(crate) era: Era,
    /// The revision that must be negotiated.
    pub(crate) expect: Option<String>,
}

// === impl Options ===

impl Options {
    /// Reads the arguments that follow the program's name.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let (mut transport, mut era, mut expect, mut url) = (None, None, None, None);
        let mut command = Vec::new();
        while let Some(flag) = arguments.next() {
            if flag == "--" {
                command.extend(arguments.by_ref());
                break;
            }
            let value = arguments.next().with_context(|| format!("{flag} takes a value"))?;
            match flag.as_str() {
                "--transport" => transport = Some(value),
                "--era" => era = Some(value),
                "--expect" => expect = Some(value),
                "--url" => url = Some(value),
                _ => bail!("unknown option {flag}"),
            }
        }
        let transport = match transport.as_deref() {
            Some("http") => Transport::Http(url.context("http takes --url")?),
            Some("stdio") => Transport::Stdio(command),
            other => bail!("no such transport: {other:?}"),
        };
        if let Transport::Stdio(command) = &transport {
            ensure!(!command.is_empty(), "stdio takes a command after --");
        }
        let era = match era.as_deref() {
            Some("legacy") => Era::Legacy,
            Some("modern") => Era::Modern,
            other => bail!("no such era: {other:?}"),
        };
        Ok(Self { transport, era, expect })
    }
}
