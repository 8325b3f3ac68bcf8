//! Replicas for tests: any number of them over one store and one hub, spoken to as a transport does.

mod away;
mod sessions;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, LocalSet},
};
use trunkline_hub::{Hub, Retention, memory::MemoryHub};
use trunkline_protocol::{
    Method, Revision,
    jsonrpc::{Body, Bounds, Message, parse},
    model::{Caching, Implementation},
};
use trunkline_store::{
    Changes, Key, Operation, Record, SessionStore, StoreError, StoreFuture, memory::MemoryStore,
};

use super::{Context, Core, Incoming, LiveSession, serve};
use crate::{
    cancel::Cancel,
    config::Limits,
    error::Refusal,
    keys::KeyRing,
    outbox::{Carrier, Logs, Outbox, Output, Shared, Source},
    principal::Principal,
    record::Greeting,
    registry::{Caller, Catalog, Client, Declared, Fanout, Registry, Services, Tool},
    telemetry::Metrics,
};

/// What all replicas share.
pub(crate) struct Cluster {
    /// The store.
    pub(crate) store: Arc<FickleStore>,
    hub: Arc<dyn Hub>,
    tools: fn() -> Vec<Tool>,
    limits: Limits,
}

/// One replica.
pub(crate) struct Replica {
    /// The endpoint.
    pub(crate) core: Arc<Core>,
    /// What shows that it is there, and hears the others.
    life: Option<AbortHandle>,
}

/// A client on its way to a replica.
#[derive(Clone)]
pub(crate) struct Peer {
    context: Context,
}

/// A request that was taken up.
pub(crate) struct Sent {
    outbox: Arc<Outbox>,
    stream: Option<mpsc::Receiver<Bytes>>,
    /// What the transport fires when the connection closes.
    pub(crate) closed: Cancel,
}

/// A store that counts what it is asked, and can be away.
pub(crate) struct FickleStore {
    store: MemoryStore,
    asked: AtomicUsize,
    away: AtomicBool,
    mute: AtomicBool,
}

/// Runs a test that starts actors.
pub(crate) async fn local<T>(test: impl Future<Output = T>) -> T {
    LocalSet::new().run_until(test).await
}

// === impl Cluster ===

impl Cluster {
    /// No replicas yet; each will serve these tools.
    pub(crate) fn new(tools: fn() -> Vec<Tool>, limits: Limits) -> Self {
        let store = FickleStore {
            store: MemoryStore::new(trunkline_store::memory::MemoryLimits::default()),
            asked: AtomicUsize::new(0),
            away: AtomicBool::new(false),
            mute: AtomicBool::new(false),
        };
        let hub = MemoryHub::new(trunkline_hub::memory::MemoryLimits::default());
        Self { store: Arc::new(store), hub: Arc::new(hub), tools, limits }
    }

    /// The same over another hub.
    pub(crate) fn with_hub(self, hub: Arc<dyn Hub>) -> Self {
        Self { hub, ..self }
    }

    /// A replica that hears the others.
    pub(crate) async fn replica(&self, name: &str) -> Replica {
        let mut replica = self.deaf_replica(name);
        replica.life = Some(tokio::task::spawn_local(replica.core.clone().run()).abort_handle());
        // So that it listens before anything is signalled.
        tokio::task::yield_now().await;
        replica
    }

    /// A replica to which no signal gets through.
    pub(crate) fn deaf_replica(&self, name: &str) -> Replica {
        let keys = || KeyRing::new([("k".to_owned(), [7; 32])]).unwrap();
        let catalog = Catalog::compile(
            Declared {
                server: Implementation::new("test", "1"),
                instructions: None,
                caching: Caching::default(),
                page_size: 100,
                tools: (self.tools)(),
                resources: Vec::new(),
                templates: Vec::new(),
                prompts: Vec::new(),
            },
            &keys(),
        );
        let services = Services {
            store: self.store.clone(),
            hub: self.hub.clone(),
            fanout: Fanout::new(),
            keys: keys(),
            limits: self.limits.clone(),
            metrics: Arc::new(Metrics::default()),
            logs: Arc::new(Logs {
                hub: self.hub.clone(),
                retention: Retention { entries: self.limits.log_entries, age: self.limits.log_age },
                bytes: self.limits.log_bytes,
                replica: name.into(),
            }),
            replica: name.into(),
            session_ttl: Duration::from_secs(3600),
            recovery_rate: 100,
        };
        let registry = Registry::new(catalog.unwrap());
        let (init_ttl, heartbeat) = (Duration::from_secs(3600), Duration::from_secs(15));
        let core = Core::new(registry, Arc::new(services), init_ttl, heartbeat);
        Replica { core: Arc::new(core), life: None }
    }
}

// === impl Peer ===

impl Peer {
    /// A client of 2026-07-28 that declares these capabilities.
    pub(crate) fn modern(principal: &Principal, capabilities: &Value) -> Self {
        let client = Client::Request { info: None, capabilities: capabilities.to_string().into() };
        let caller = Caller { principal: principal.clone(), revision: Revision::V2026_07_28, client };
        Self { context: Context { caller, session: None } }
    }

    /// A client of an older revision without a session.
    pub(crate) fn sessionless(principal: &Principal, revision: Revision) -> Self {
        let caller = Caller { principal: principal.clone(), revision, client: Client::Unknown };
        Self { context: Context { caller, session: None } }
    }

    /// Who it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.context.caller
    }

    /// The session of a client that has one.
    pub(crate) fn session(&self) -> &Arc<LiveSession> {
        self.context.session.as_ref().unwrap()
    }
}

// === impl Replica ===

impl Replica {
    /// Shows no sign of life any more, and hears nobody; what it runs goes on, as that of one which is only asleep may.
    pub(crate) fn fall_asleep(&self) {
        self.life.as_ref().unwrap().abort();
    }

    /// Opens a session.
    pub(crate) async fn initialize(
        &self,
        principal: &Principal,
        revision: Revision,
        capabilities: &Value,
    ) -> Peer {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let greeting = Greeting::read(Some(&serde_json::value::to_raw_value(&params).unwrap())).unwrap();
        let id = self.core.directory.create(principal, &greeting).await.unwrap();
        self.join(principal, id.as_str()).await
    }

    /// The client of a session, as this replica sees it.
    pub(crate) async fn join(&self, principal: &Principal, session: &str) -> Peer {
        let session = self.core.directory.find(session, principal).await.unwrap();
        let record = session.record();
        let client = Client::Session { id: session.id().clone(), record: record.clone() };
        let caller = Caller { principal: principal.clone(), revision: record.revision, client };
        Peer { context: Context { caller, session: Some(session) } }
    }

    /// Sends a request that may be answered on a stream.
    pub(crate) async fn send(&self, peer: &Peer, method: &str, params: Value) -> Result<Sent, Refusal> {
        self.send_with(peer, method, params, Carrier::Direct(64)).await
    }

    /// Sends a request whose answer goes to a stream that others share, as over stdio.
    pub(crate) async fn send_shared(
        &self,
        peer: &Peer,
        method: &str,
        params: Value,
    ) -> Result<Sent, Refusal> {
        let (queue, stream) = mpsc::channel(64);
        let sent = self.send_with(peer, method, params, Carrier::Shared(Shared::Queue(queue))).await?;
        Ok(Sent { stream: Some(stream), ..sent })
    }

    /// Sends a request.
    pub(crate) async fn send_with(
        &self,
        peer: &Peer,
        method: &str,
        params: Value,
        carrier: Carrier,
    ) -> Result<Sent, Refusal> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_body(peer, &body, carrier).await
    }

    /// Sends a request as it is.
    pub(crate) async fn send_body(
        &self,
        peer: &Peer,
        body: &Value,
        carrier: Carrier,
    ) -> Result<Sent, Refusal> {
        let body = Bytes::from(body.to_string());
        let Ok(Body::Single(Message::Request(mut request))) = parse(&body, Bounds::default()) else {
            panic!("not a request")
        };
        let params = request.take_params().unwrap();
        let method = Method::from_name(&request.method);
        let incoming = Incoming { request: &request, method, params: &params, body: &body };
        let outbox = Arc::new(Outbox::new(carrier, 1));
        let closed = Cancel::default();
        serve(&self.core, &peer.context, &incoming, &outbox, &closed).await?;
        Ok(Sent { outbox, stream: None, closed })
    }

    /// Sends a request, and waits for its answer.
    pub(crate) async fn ask(&self, peer: &Peer, method: &str, params: Value) -> Value {
        let sent = self.send(peer, method, params).await;
        match sent {
            Ok(mut sent) => sent.answer().await,
            Err(refusal) => {
                let answer = refusal.answer();
                json!({"status": answer.status, "error": answer.error})
            }
        }
    }

    /// Answers a question, as a POST to this replica.
    pub(crate) async fn respond(&self, peer: &Peer, question: &Value, outcome: (&str, Value)) {
        let body = json!({"jsonrpc": "2.0", "id": question["id"], outcome.0: outcome.1}).to_string();
        let Ok(Body::Single(Message::Response(response))) = parse(body.as_bytes(), Bounds::default()) else {
            panic!("not a response")
        };
        self.core.answer(peer.session(), response).await.unwrap();
    }
}

// === impl Sent ===

impl Sent {
    /// The next message that comes back.
    pub(crate) async fn next(&mut self) -> Value {
        if self.stream.is_none() {
            match self.outbox.output().await {
                Output::Plain(replies) => {
                    return replies.into_iter().next().as_ref().map_or(Value::Null, of_reply);
                }
                Output::Stream(Source::Queue(frames)) => self.stream = Some(frames),
                Output::Broken => panic!("the hub of these tests is always there"),
                Output::Stream(Source::Log(..)) => panic!("these tests have no logs"),
            }
        }
        let frames = self.stream.as_mut().unwrap();
        frames.recv().await.map_or(Value::Null, |frame| serde_json::from_slice(&frame).unwrap())
    }

    /// Whether nothing has come on a shared stream.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.stream.as_mut().unwrap().try_recv().is_err()
    }

    /// The answer, whatever is said before it. Null if there is none.
    pub(crate) async fn answer(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("method").is_none() {
                return message;
            }
        }
    }
}

/// An answer with the HTTP status beside it.
fn of_reply(reply: &crate::outbox::Reply) -> Value {
    if reply.body.is_empty() {
        return Value::Null;
    }
    let mut message: Value = serde_json::from_slice(&reply.body).unwrap();
    message["status"] = reply.status.into();
    message
}

// === impl FickleStore ===

impl FickleStore {
    /// How often anything was asked of it.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Cannot be reached from now on, or can be again.
    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    /// From now on its answers to changes are lost, and the changes are made; or not any more.
    pub(crate) fn set_mute(&self, mute: bool) {
        self.mute.store(mute, Ordering::Relaxed);
    }

    fn reach<'a, T: Send + 'a>(
        &'a self,
        operation: Operation,
        answer: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let (away, mute) = (self.away.load(Ordering::Relaxed), self.mute.load(Ordering::Relaxed));
        let mute = mute && operation == Operation::Change;
        if !away && !mute {
            return answer;
        }
        Box::pin(async move {
            if !away {
                let _lost = answer.await;
            }
            Err(StoreError::Unavailable { operation, source: "away".into() })
        })
    }
}

impl SessionStore for FickleStore {
    fn create<'a>(&'a self, key: &'a Key, record: Record, ttl: Duration) -> StoreFuture<'a, bool> {
        self.reach(Operation::Create, self.store.create(key, record, ttl))
    }

    fn load<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, Option<Record>> {
        self.reach(Operation::Load, self.store.load(key))
    }

    fn set<'a>(&'a self, key: &'a Key, field: &'a str, value: Bytes) -> StoreFuture<'a, bool> {
        self.reach(Operation::Change, self.store.set(key, field, value))
    }

    fn remove<'a>(&'a self, key: &'a Key, field: &'a str) -> StoreFuture<'a, Option<bool>> {
        self.reach(Operation::Change, self.store.remove(key, field))
    }

    fn increment<'a>(&'a self, key: &'a Key, field: &'a str, by: i64) -> StoreFuture<'a, Option<i64>> {
        self.reach(Operation::Change, self.store.increment(key, field, by))
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a Key,
        field: &'a str,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> StoreFuture<'a, Option<bool>> {
        self.reach(Operation::Change, self.store.compare_and_set(key, field, expected, new))
    }

    fn touch<'a>(&'a self, key: &'a Key, ttl: Duration) -> StoreFuture<'a, bool> {
        self.reach(Operation::Touch, self.store.touch(key, ttl))
    }

    fn delete<'a>(&'a self, key: &'a Key) -> StoreFuture<'a, bool> {
        self.reach(Operation::Delete, self.store.delete(key))
    }

    fn changes(&self) -> Changes {
        self.store.changes()
    }
}
