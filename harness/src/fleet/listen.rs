//! The stream of a client that listens: kept open, resumed when it breaks, and opened anew when it cannot be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{revision::Era, sse::Decoder};

use super::{
    client::Client,
    history::{Broke, End, Kind, What},
    http::Response,
    message::{Ask, Message, Round},
    plan::Resource,
    session::Session,
};

/// How often it is tried whether a new listener hears, until it does.
const PRIME_EVERY: Duration = Duration::from_secs(1);

/// One stream that listens, over all its connections.
struct Listener<'a> {
    client: &'a Arc<Client>,
    session: &'a Session,
    call: u32,
    last_event_id: Option<String>,
    retry: Duration,
    /// Whether everything is heard from now on.
    hears: bool,
}

/// Why a stream is not read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Everything was heard.
    End,
    /// The connection is gone.
    Broken,
    /// The session is gone.
    Lost,
    /// The request is refused for good.
    Refused,
}

// === impl Client ===

impl Client {
    /// Listens until everything was heard, or nothing more is waited for.
    pub(super) async fn listen(self: Arc<Self>) {
        let give_up = self.plan.give_up.clone();
        tokio::select! {
            biased;
            () = give_up.cancelled() => {}
            () = self.listen_on() => {}
        }
    }

    async fn listen_on(self: &Arc<Self>) {
        while let Some(session) = self.session().await {
            let call = self.next_call();
            self.log.note(What::Called { call, kind: Kind::Listen });
            let retry = self.jitter(100..300);
            let mut listener =
                Listener { client: self, session: &session, call, last_event_id: None, retry, hears: false };
            let left = listener.run().await;
            let end = match left {
                Left::End => End::Done,
                Left::Lost => End::SessionLost,
                Left::Broken => End::Unknown,
                Left::Refused => End::Refused,
            };
            self.log.note(What::Over { call, end });
            match left {
                Left::End => return,
                Left::Lost => self.let_go(&session).await,
                Left::Broken => {}
                Left::Refused => sleep(self.jitter(500..1000)).await,
            }
        }
    }
}

// === impl Listener ===

impl<'a> Listener<'a> {
    /// Listens as long as it goes on where it was.
    async fn run(&mut self) -> Left {
        loop {
            let resumed = self.last_event_id.is_some();
            let response = match self.open().await {
                Ok(response) => response,
                Err(left) => return left,
            };
            self.note(What::Streaming { call: self.call });
            if resumed {
                self.note(What::Listening { call: self.call, resumed: self.hears });
                self.hears = true;
                ready(&self.client.ready);
            }
            // Until it hears, somebody has to say something.
            let heard = CancellationToken::new();
            let _until = heard.clone().drop_guard();
            if !self.hears && self.client.revision.era() == Era::Legacy {
                drop(tokio::spawn(prime(self.client.clone(), heard.clone())));
            }
            let left = self.read(response, &heard).await;
            if left != Left::Broken {
                return left;
            }
            if self.last_event_id.is_none() {
                self.note(What::Broke { call: self.call, how: Broke::StreamForGood });
                return left;
            }
            self.note(What::Broke { call: self.call, how: Broke::Stream });
            sleep(self.retry.mul_f64(self.client.factor(1.0..1.2))).await;
        }
    }

    fn note(&self, what: What) {
        self.client.log.note(what);
    }

    /// Asks for the stream until it is there.
    async fn open(&self) -> Result<Response<'a>, Left> {
        let client: &'a Client = self.client;
        loop {
            self.note(What::Sent { call: self.call });
            let pause = match client.http.send(self.request()).await {
                Ok(mut response) => {
                    let (status, retry_after) = (response.status.as_u16(), response.retry_after());
                    self.note(response.head(self.call));
                    if status == 200 && response.is_stream() {
                        return Ok(response);
                    }
                    let _read = response.body(1 << 20).await;
                    match status {
                        429 | 503 => client.stay_away(retry_after),
                        502 | 504 => client.jitter(100..300),
                        404 if self.session.id.is_some() => {
                            self.note(What::Lost { session: self.session.number });
                            return Err(Left::Lost);
                        }
                        _ => return Err(Left::Refused),
                    }
                }
                Err(_) => {
                    self.note(What::Broke { call: self.call, how: Broke::Unsent });
                    client.jitter(100..300)
                }
            };
            sleep(pause).await;
        }
    }

    fn request(&self) -> hyper::Request<http_body_util::Full<bytes::Bytes>> {
        let client = self.client;
        if client.revision.era() == Era::Legacy {
            return client.target().get(self.session, self.last_event_id.as_deref());
        }
        let subscriptions = client.plan.subscriptions(client.index);
        let params = json!({"notifications": {"resourceSubscriptions": subscriptions}});
        let message = Message::Request { method: "subscriptions/listen", params };
        let ask = Ask { kind: Kind::Listen, message };
        client.target().post(self.session, &ask, client.next_id(), &Round::default())
    }

    async fn read(&mut self, mut response: Response<'_>, heard: &CancellationToken) -> Left {
        let mut decoder = Decoder::default();
        loop {
            let Some(chunk) = self.client.plan.chunk(&mut response).await else { return Left::Broken };
            let mut rest = &chunk[..];
            while let Ok(Some(event)) = decoder.decode(&mut rest) {
                if !event.data.is_empty() && self.message(&event.data, heard) {
                    return Left::End;
                }
                // After the message: until it is taken, the client would come back to the place before it.
                if let Some(id) = &event.id {
                    self.last_event_id = Some(id.to_string());
                }
            }
            if let Some(retry) = decoder.retry() {
                self.retry = retry;
            }
        }
    }

    /// Takes one message. Whether it was the last.
    fn message(&mut self, data: &[u8], heard: &CancellationToken) -> bool {
        let message: Value = serde_json::from_slice(data).unwrap_or_default();
        match message["method"].as_str() {
            Some("notifications/resources/updated") => {
                let uri = message["params"]["uri"].as_str().unwrap_or_default();
                match self.client.plan.resource(self.client.index, uri) {
                    Some(Resource::OfRing { ring, slot }) => self.note(What::Heard { ring, slot }),
                    Some(Resource::Prime) => self.begin(heard),
                    Some(Resource::End) => {
                        self.note(What::HeardEnd);
                        return true;
                    }
                    None => self.note(What::HeardOther),
                }
            }
            Some("notifications/subscriptions/acknowledged") => self.begin(heard),
            // Nobody changes lists or logs; the end of a `subscriptions/listen` is an answer.
            None if message.get("result").is_some() => {}
            _ => self.note(What::HeardOther),
        }
        false
    }

    fn begin(&mut self, heard: &CancellationToken) {
        heard.cancel();
        if !self.hears {
            self.hears = true;
            self.note(What::Listening { call: self.call, resumed: false });
            ready(&self.client.ready);
        }
    }
}

fn ready(flag: &AtomicBool) {
    flag.store(true, Ordering::Release);
}

/// Changes a resource of the client's own until it has heard of it.
async fn prime(client: Arc<Client>, heard: CancellationToken) {
    let uri = client.plan.prime(client.index);
    let ask = Ask::tool(Kind::Prime, "touch", &json!({"uri": uri}));
    loop {
        let Some(session) = client.session().await else { return };
        // Let be what was sent: a call has one end.
        let _touched = client.call(&session, &ask).await;
        tokio::select! {
            biased;
            () = heard.cancelled() => return,
            () = sleep(PRIME_EVERY) => {}
        }
    }
}
