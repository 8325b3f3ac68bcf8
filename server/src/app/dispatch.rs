//! A request with no socket under it: a narrow door for benchmarks to what is private here. Not an interface.
//!
//! The way of a request from its bytes to its answer's, as a transport takes it: decoded, settled, put in its session, served
//! by the registry, encoded. What HTTP adds, heads and bodies and their checks, is not on it.

use std::sync::Arc;

use bytes::Bytes;
use trunkline_protocol::{
    Method, Revision,
    jsonrpc::{Body, Bounds, Message, Request, parse},
    revision::Era,
};

use super::{
    build::{App, StartError},
    server::Server,
};
use crate::{
    cancel::Cancel,
    config::Config,
    outbox::{Carrier, Outbox, Output, Replies},
    principal::Principal,
    record::Greeting,
    session::{Context, Core, Incoming, serve},
    transport::context,
};

/// A server whose requests are handed to it, in one revision and one session.
pub struct Dispatch {
    core: Arc<Core>,
    bounds: Bounds,
    revision: Revision,
    session: Option<String>,
}

// === impl Dispatch ===

impl Dispatch {
    /// A server without listeners. To be used within an actix system.
    ///
    /// # Errors
    /// What cannot be served.
    pub async fn open(server: Server, revision: Revision) -> Result<Self, StartError> {
        let (assembled, config) = App::new(server, Config::default())?.assemble()?;
        let bounds = Bounds { depth: config.limits.json_depth, batch: config.limits.batch };
        Ok(Self { core: assembled.core, bounds, revision, session: None })
    }

    /// The answer to a request; empty where there is none at once. `initialize` opens a session, which later calls are in.
    pub async fn ask(&mut self, body: &Bytes) -> Bytes {
        let Ok(Body::Single(Message::Request(mut request))) = parse(body, self.bounds) else {
            return Bytes::new();
        };
        let method = Method::from_name(&request.method);
        if method == Some(Method::Initialize) {
            return self.initialize(&request).await.unwrap_or_default();
        }
        self.serve(&mut request, method, body).await.unwrap_or_default()
    }

    async fn initialize(&mut self, request: &Request<'_>) -> Option<Bytes> {
        let greeting = Greeting::read(request.params).ok()?;
        let session = self.core.directory.create(&Principal::anonymous(), &greeting).await.ok()?;
        self.session = Some(session.as_str().to_owned());
        Some(context::greet(&self.core, greeting.revision, &request.id).body)
    }

    async fn serve(&self, request: &mut Request<'_>, method: Option<Method>, body: &Bytes) -> Option<Bytes> {
        let params = request.take_params().ok()?;
        let context = match (self.revision.era(), &self.session) {
            (Era::Modern, _) => context::modern_context(self.revision, Principal::anonymous(), &params, body),
            (Era::Legacy, session) => {
                let found = self.core.directory.find(session.as_deref()?, &Principal::anonymous()).await;
                Context::of_session(found.ok()?)
            }
        };
        let outbox = Arc::new(Outbox::new(Carrier::Json, 1));
        let incoming = Incoming { request, method, params: &params, body };
        serve(&self.core, &context, &incoming, &outbox, &Cancel::default()).await.ok()?;
        match outbox.take()? {
            Output::Plain(replies) => Replies::into_iter(replies).next().map(|reply| reply.body),
            Output::Stream(_) | Output::Broken => None,
        }
    }
}
