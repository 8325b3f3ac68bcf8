//! A link over a pipe of channels.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{
    Revision,
    model::{ClientCapabilities, ElicitAction, ElicitParams, ElicitResult},
};

use super::*;
use crate::{
    call::{Call, Trace},
    config::Config,
    questions::Questions,
    shared::Beat,
};

/// What goes out can be read; where `stuck` is not cancelled yet, sending takes forever.
struct Channel {
    out: mpsc::Sender<Value>,
    stuck: Option<CancellationToken>,
}

struct Server {
    link: Arc<PipeLink>,
    inbox: Inbox,
    sent: mpsc::Receiver<Value>,
}

/// Says yes, or never says anything.
struct Person {
    answers: bool,
}

impl Pipe for Channel {
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let message = serde_json::from_slice(&message).expect("JSON");
            self.out.send(message).await.map_err(Error::unsent)?;
            if let Some(stuck) = &self.stuck {
                stuck.cancelled().await;
            }
            Ok(())
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Questions for Person {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": {} })).expect("capabilities")
    }

    async fn elicit(&self, _params: ElicitParams) -> Result<ElicitResult, trunkline_protocol::RpcError> {
        if !self.answers {
            std::future::pending::<()>().await;
        }
        Ok(ElicitResult { action: ElicitAction::Decline, content: None, meta: None })
    }
}

impl Server {
    fn new(revision: Revision, person: Option<Person>, stuck: Option<CancellationToken>) -> Self {
        let mut config = Config::default();
        if let Some(person) = person {
            config.capabilities = person.capabilities();
            config.questions = Some(Arc::new(person));
        }
        let shared = Arc::new(Shared::new(config));
        let (link, inbox) = PipeLink::new(shared.clone());
        link.speak(Arc::new(shared.dialect(revision)));
        let (out, sent) = mpsc::channel(100);
        link.attach(Box::new(Channel { out, stuck }));
        Self { link, inbox, sent }
    }

    /// A call, and what became of it.
    fn call(&self, call: Call) -> tokio::task::JoinHandle<(Result<Bytes, Error>, Trace)> {
        let link = self.link.clone();
        tokio::spawn(async move {
            let (mut trace, beat) = (Trace::default(), Beat::new());
            let mut ctx = Ctx { call: &call, trace: &mut trace, beat: &beat };
            let outcome = link.call(&mut ctx, b"").await;
            (outcome, trace)
        })
    }

    fn say(&self, message: &Value) {
        self.inbox.deliver(&Bytes::from(message.to_string()));
    }

    async fn next(&mut self) -> Value {
        timeout(Duration::from_secs(10), self.sent.recv())
            .await
            .expect("a message in time")
            .expect("a message")
    }
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let mut server = Server::new(Revision::V2025_11_25, None, None);
    let calls = [server.call(Call::new("a", "")), server.call(Call::new("b", "{\"x\":1}"))];
    let asked = [server.next().await, server.next().await];
    for message in asked.iter().rev() {
        server.say(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "to": message["method"] } }));
    }
    for (call, name) in calls.into_iter().zip(["a", "b"]) {
        let (outcome, trace) = call.await.unwrap();
        assert_eq!(outcome.unwrap(), json!({ "to": name }).to_string());
        assert_eq!(trace.sent, 1);
    }
    server.say(&json!({ "jsonrpc": "2.0", "id": asked[0]["id"], "result": {} }));
    server.inbox.deliver(&Bytes::from_static(b"Listening on port 80"));
    let counters = server.link.shared.counters();
    assert_eq!((counters.stray_answers, counters.nonsense), (1, 1), "{counters:?}");
}

#[tokio::test]
async fn an_answer_may_be_quicker_than_the_end_of_sending() {
    let mut server = Server::new(Revision::V2024_11_05, None, Some(CancellationToken::new()));
    let call = server.call(Call::new("a", ""));
    let asked = server.next().await;
    server.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }));
    assert_eq!(call.await.unwrap().0.unwrap(), "{}");
    assert!(server.sent.try_recv().is_err(), "an answered call is not taken back");
}

#[tokio::test]
async fn progress_goes_to_its_call_and_the_rest_to_who_listens() {
    let mut server = Server::new(Revision::V2025_11_25, None, None);
    let mut heard = server.link.shared.subscribe();
    let (sender, mut progress) = mpsc::channel(10);
    let call = server.call(Call::new("a", "").progress(sender));
    let asked = server.next().await;
    let token = &asked["params"]["_meta"]["progressToken"];
    assert_eq!(token, &asked["id"]);
    for token in [token, &json!(4711), &json!("other")] {
        let params = json!({ "progressToken": token, "progress": 1 });
        server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
    }
    server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    server.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }));
    call.await.unwrap().0.unwrap();
    assert!(progress.recv().await.is_some());
    assert!(progress.recv().await.is_none(), "what was meant for others did not come here");
    let Ok(crate::notifications::StreamEvent::Notification(told)) = heard.try_recv() else {
        panic!("nothing heard")
    };
    assert_eq!(&*told.method, "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_taken_back_and_a_handshake_is_not() {
    for (method, stuck) in [("tools/call", false), ("tools/call", true), ("initialize", false)] {
        let mut server = Server::new(Revision::V2025_11_25, None, stuck.then(CancellationToken::new));
        let call = server.call(Call::new(method, ""));
        let asked = server.next().await;
        call.abort();
        let _aborted = call.await;
        if method == "initialize" {
            tokio::task::yield_now().await;
            assert!(server.sent.try_recv().is_err());
            continue;
        }
        let told = server.next().await;
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(told["params"]["requestId"], asked["id"]);
        server.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }));
        assert_eq!(server.link.shared.counters().stray_answers, 1);
    }
}

#[tokio::test]
async fn questions_are_answered_beside_the_calls() {
    let mut server = Server::new(Revision::V2025_11_25, Some(Person { answers: true }), None);
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    server.say(&json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params }));
    let answer = server.next().await;
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": "q", "result": { "action": "decline" } }));
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(server.next().await["result"], json!({}));
    server.say(&json!({ "jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage", "params": {} }));
    assert!(server.next().await["error"]["code"].is_i64());
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_not_answered() {
    let server = Server::new(Revision::V2025_11_25, Some(Person { answers: false }), None);
    let params = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    server.say(&json!({ "jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": params }));
    assert_eq!(server.link.questions.lock().len(), 1);
    let params = json!({ "requestId": 5 });
    server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
    assert!(server.link.questions.lock().is_empty());
}

#[tokio::test]
async fn a_modern_server_has_no_questions_of_its_own() {
    let mut server = Server::new(Revision::V2026_07_28, Some(Person { answers: true }), None);
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(server.link.shared.counters().nonsense, 1);
    assert!(server.sent.try_recv().is_err());
}

#[tokio::test]
async fn the_end_of_the_pipe_is_told_to_all() {
    let mut server = Server::new(Revision::V2025_11_25, None, None);
    let waiting = server.call(Call::new("a", ""));
    server.next().await;
    server.inbox.closed("the process has ended");
    let error = waiting.await.unwrap().0.unwrap_err();
    assert!(matches!(error, Error::InFlight { phase: Phase::Wait, .. }), "{error}");
    assert!(error.to_string().contains("the process has ended"), "{error}");
    let error = server.call(Call::new("b", "")).await.unwrap().0.unwrap_err();
    assert!(matches!(error, Error::Unsent { .. }), "{error}");
    server.link.close().await;
    let error = server.call(Call::new("c", "")).await.unwrap().0.unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
}
