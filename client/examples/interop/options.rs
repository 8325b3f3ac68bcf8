//! The command line.

use tokio::process::Command;
use trunkline_client::{Builder, Client};
use trunkline_protocol::Revision;

use crate::Failure;

/// What the runner asks for.
pub(crate) struct Options {
    pub(crate) server: Server,
    pub(crate) era: Era,
    /// The revision that must come out.
    pub(crate) expect: Option<Revision>,
}

/// Where the server is.
pub(crate) enum Server {
    Http(String),
    Sse(String),
    Stdio(Vec<String>),
}

/// What is offered to the server.
#[derive(Clone, Copy)]
pub(crate) enum Era {
    /// The newest revision that opens with a handshake.
    Legacy,
    /// Whatever is found out.
    Modern,
    Exactly(Revision),
}

// === impl Options ===

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let (mut transport, mut era, mut expect, mut url) = (None, None, None, None);
        let mut command = Vec::new();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match &*argument {
                "--transport" => transport = Some(value()?),
                "--era" => era = Some(Era::read(&value()?)?),
                "--expect" => expect = Some(revision(&value()?)?),
                "--url" => url = Some(value()?),
                "--" => command.extend(arguments.by_ref()),
                _ => return Err(format!("no such option: {argument}").into()),
            }
        }
        let server = match (transport.as_deref(), url) {
            (Some("http"), Some(url)) => Server::Http(url),
            (Some("sse"), Some(url)) => Server::Sse(url),
            (Some("stdio"), None) if !command.is_empty() => Server::Stdio(command),
            _ => return Err("--transport http or sse takes --url, stdio takes a command after --".into()),
        };
        Ok(Self { server, era: era.ok_or("--era is missing")?, expect })
    }

    /// A builder for the server, without what the client can answer.
    pub(crate) fn builder(&self) -> Result<Builder, Failure> {
        let builder = match &self.server {
            Server::Http(url) => Client::http(url),
            Server::Sse(url) => Client::sse(url),
            Server::Stdio(command) => {
                let (program, arguments) = command.split_first().ok_or("no command")?;
                let mut command = Command::new(program);
                command.args(arguments);
                Client::stdio(command)
            }
        };
        Ok(match self.era {
            Era::Legacy => builder.handshake(),
            Era::Modern => builder,
            Era::Exactly(revision) => builder.revision(revision),
        })
    }
}

// === impl Era ===

impl Era {
    fn read(text: &str) -> Result<Self, Failure> {
        match text {
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            other => revision(other).map(Self::Exactly),
        }
    }
}

fn revision(text: &str) -> Result<Revision, Failure> {
    Revision::from_name(text).ok_or_else(|| format!("no such revision: {text}").into())
}
