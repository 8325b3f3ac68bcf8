//! The command line: `--transport T --era E [--expect REVISION] (--url URL | -- COMMAND...)`.

use anyhow::{Context, Result, bail, ensure};
use rmcp::model::ProtocolVersion;

/// How to reach the server. HTTP+SSE is absent: this SDK has no client for it.
#[derive(Clone, Debug)]
pub(crate) enum Transport {
    Http(String),
    Stdio(Vec<String>),
}

/// Which lifecycle the client speaks: `legacy`, `modern`, or an older revision by its date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize`, which offers this revision.
    Legacy(ProtocolVersion),
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

// === impl Era ===

impl Era {
    fn parse(name: &str) -> Result<Self> {
        if name == "modern" {
            return Ok(Self::Modern);
        }
        let known = [
            ("legacy", ProtocolVersion::V_2025_11_25),
            ("2025-06-18", ProtocolVersion::V_2025_06_18),
            ("2025-03-26", ProtocolVersion::V_2025_03_26),
            ("2024-11-05", ProtocolVersion::V_2024_11_05),
        ];
        let found = known.into_iter().find(|(known, _)| *known == name);
        let (_, version) = found.with_context(|| format!("no such era: {name}"))?;
        Ok(Self::Legacy(version))
    }

    /// Whether the revision has structured results and elicitation. Both came with 2025-06-18.
    pub(crate) fn has_structure(&self) -> bool {
        match self {
            Self::Legacy(version) => *version >= ProtocolVersion::V_2025_06_18,
            Self::Modern => true,
        }
    }
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
        let era = Era::parse(&era.context("--era is missing")?)?;
        Ok(Self { transport, era, expect })
    }
}
