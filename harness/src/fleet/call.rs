//! One call as a well-behaved client makes it: until it is answered, or nobody can know what became of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use trunkline_protocol::{revision::Era, sse::Decoder};

use super::{
    client::Client,
    history::{Answer, Broke, End, Kind, What},
    http::Response,
    message::{Ask, Message, Round, Target, read, user_says},
    session::Session,
};

/// How long a client waits for a call, with everything it has to try again. Far above what the checker calls hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a stream may stay open after its answer: what else comes on it is looked at.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// The largest body that is no stream: a payload of the demonstration, and JSON around it.
const BODY: usize = 8 << 20;

/// How a call ended, and what it returned.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// The answer, if one came.
    pub(super) answer: Option<Answer>,
    /// The result, of a request that keeps the client going.
    pub(super) message: Value,
    /// What a failure says.
    pub(super) told: Option<String>,
    /// The session that a response names.
    pub(super) session: Option<String>,
}

/// What comes of one try.
enum Step {
    Again(Duration),
    Over(Box<Ended>),
}

/// One call under way.
struct Call<'a> {
    client: &'a Client,
    session: &'a Session,
    ask: &'a Ask,
    number: u32,
    round: Round,
}

/// What is read of a call's stream, over all its connections.
struct Reading {
    /// The request that the stream answers.
    id: i64,
    decoder: Decoder,
    last_event_id: Option<String>,
    retry: Duration,
    step: Option<Step>,
}

// === impl Ended ===

impl Ended {
    fn new(end: End) -> Self {
        Self { end, answer: None, message: Value::Null, told: None, session: None }
    }

    /// The number in the answer, if it is a good one.
    pub(super) fn value(&self) -> Option<i64> {
        match self.answer {
            Some(Answer::Value(value)) => Some(value),
            _ => None,
        }
    }
}

// === impl Step ===

impl Step {
    fn over(end: End) -> Self {
        Self::Over(Box::new(Ended::new(end)))
    }
}

// === impl Client ===

impl Client {
    /// Makes a call, and returns when there is nothing more to come.
    pub(super) async fn call(&self, session: &Session, ask: &Ask) -> Ended {
        let number = self.next_call();
        self.log.note(What::Called { call: number, kind: ask.kind });
        let mut call = Call { client: self, session, ask, number, round: Round::default() };
        let ended = match timeout(PATIENCE, Box::pin(call.run())).await {
            Ok(ended) => ended,
            Err(_) => {
                self.log.note(What::Broke { call: number, how: Broke::Timeout });
                Ended::new(End::TimedOut)
            }
        };
        self.log.note(What::Over { call: number, end: ended.end });
        ended
    }

    pub(super) fn target(&self) -> Target<'_> {
        Target { path: &self.plan.path, host: self.http.host(), revision: self.revision }
    }
}

// === impl Call ===

impl<'a> Call<'a> {
    async fn run(&mut self) -> Ended {
        loop {
            match self.attempt().await {
                Step::Over(ended) => return *ended,
                Step::Again(pause) => sleep(pause).await,
            }
        }
    }

    async fn attempt(&mut self) -> Step {
        let client = self.client;
        let id = client.next_id();
        let request = client.target().post(self.session, self.ask, id, &self.round);
        self.note_reply();
        client.log.note(What::Sent { call: self.number });
        let mut response = match client.http.send(request).await {
            Ok(response) => response,
            Err(how) => return self.broke(how),
        };
        if let Some(step) = self.refused(&mut response).await {
            return step;
        }
        if response.is_stream() {
            return self.follow(response, id).await;
        }
        let named = response.header("mcp-session-id").map(str::to_owned);
        let Ok(body) = response.body(BODY).await else { return self.broke(Broke::Body) };
        if !matches!(self.ask.message, Message::Request { .. }) {
            return Step::over(End::Done);
        }
        let mut step = match serde_json::from_slice(&body) {
            Ok(message) => self.answered(message, id),
            Err(_) => {
                self.note_answer(Answer::Unreadable);
                Step::over(End::Done)
            }
        };
        if let Step::Over(ended) = &mut step {
            ended.session = named;
        }
        step
    }

    /// In rounds, the reply goes with the next request.
    fn note_reply(&self) {
        if self.round.responses.is_some() {
            self.client.log.note(What::Replied { call: self.number });
        }
    }

    fn note_answer(&self, answer: Answer) {
        self.client.log.note(What::Answered { call: self.number, answer });
    }

    /// An HTTP exchange came to nothing. What is idempotent, or was not sent, is sent again.
    fn broke(&self, how: Broke) -> Step {
        self.client.log.note(What::Broke { call: self.number, how });
        if how == Broke::Unsent {
            return Step::Again(self.client.jitter(100..300));
        }
        if self.ask.kind.is_idempotent() {
            return Step::Again(self.client.jitter(20..120));
        }
        Step::over(End::Unknown)
    }

    /// Looks at the head of a response: what to do if it is none that an answer follows.
    async fn refused(&self, response: &mut Response<'_>) -> Option<Step> {
        let status = response.status.as_u16();
        let retry_after = response.retry_after();
        self.client.log.note(response.head(self.number));
        let expected = match self.ask.kind {
            Kind::Plumbing { status } => status,
            _ => 200,
        };
        if status == expected {
            return None;
        }
        // The connection can be used again.
        let _read = response.body(BODY).await;
        Some(match status {
            429 | 503 => Step::Again(self.client.stay_away(retry_after)),
            502 | 504 => self.broke(Broke::Gateway),
            404 if self.session.id.is_some() => {
                self.client.log.note(What::Lost { session: self.session.number });
                Step::over(End::SessionLost)
            }
            _ => Step::over(End::Refused),
        })
    }

    /// An answer to the call, or the questions of one round.
    fn answered(&mut self, message: Value, id: i64) -> Step {
        if message["id"] != json!(id) {
            self.client.log.note(What::Stray { call: self.number });
            return Step::over(End::Done);
        }
        let result = &message["result"];
        if result["resultType"] == "input_required" {
            let question = fingerprint(&result["requestState"].to_string());
            self.client.log.note(What::Asked { call: self.number, question });
            self.round.state = result.get("requestState").cloned();
            let asked = result["inputRequests"].as_object();
            let reply = self.says();
            let replies = asked.into_iter().flatten().map(|(key, _)| (key.clone(), reply.clone()));
            self.round.responses = Some(Value::Object(replies.collect()));
            return Step::Again(Duration::ZERO);
        }
        let (answer, told) = read(self.ask.kind, &message);
        self.note_answer(answer);
        let (end, answer) = (End::Done, Some(answer));
        Step::Over(Box::new(Ended { end, answer, message, told, session: None }))
    }

    /// What the user says when asked.
    fn says(&self) -> Value {
        match self.ask.kind {
            Kind::Confirm { value } => user_says(value),
            _ => user_says(3),
        }
    }

    /// Reads a stream to its end, over as many connections as it takes.
    async fn follow(&mut self, response: Response<'a>, id: i64) -> Step {
        let mut reading = Reading {
            id,
            decoder: Decoder::default(),
            last_event_id: None,
            retry: Duration::from_millis(200),
            step: None,
        };
        let client = self.client;
        self.client.log.note(What::Streaming { call: self.number });
        self.read(&mut reading, response).await;
        loop {
            if let Some(step) = reading.step.take() {
                return step;
            }
            let resumable = client.revision.features().resumable && self.session.id.is_some();
            let Some(last) = reading.last_event_id.clone().filter(|_| resumable) else {
                return self.broke(Broke::StreamForGood);
            };
            client.log.note(What::Broke { call: self.number, how: Broke::Stream });
            match self.resume(&last, reading.retry).await {
                Ok(response) => self.read(&mut reading, response).await,
                Err(step) => return step,
            }
        }
    }

    /// Asks for the rest of a stream until it is there.
    async fn resume(&self, last: &str, retry: Duration) -> Result<Response<'a>, Step> {
        let client = self.client;
        let mut pause = retry.mul_f64(client.factor(1.0..1.2));
        loop {
            sleep(pause).await;
            client.log.note(What::Sent { call: self.number });
            let sent = client.http.send(client.target().get(self.session, Some(last))).await;
            let Ok(mut response) = sent else {
                client.log.note(What::Broke { call: self.number, how: Broke::Stream });
                pause = client.jitter(100..300);
                continue;
            };
            match self.refused_resume(&mut response).await {
                None => {
                    client.log.note(What::Streaming { call: self.number });
                    return Ok(response);
                }
                Some(Step::Again(next)) => pause = next,
                Some(over) => return Err(over),
            }
        }
    }

    async fn refused_resume(&self, response: &mut Response<'_>) -> Option<Step> {
        let gateway = matches!(response.status.as_u16(), 502 | 504);
        if gateway {
            // Asking for a stream again changes nothing, whatever the call is.
            self.client.log.note(What::Broke { call: self.number, how: Broke::Stream });
            let _read = response.body(BODY).await;
            return Some(Step::Again(self.client.jitter(100..300)));
        }
        self.refused(response).await
    }

    /// Reads one connection's part of a stream.
    async fn read(&mut self, reading: &mut Reading, mut response: Response<'_>) {
        reading.decoder = Decoder::default();
        loop {
            let chunk = match &reading.step {
                None => self.client.plan.chunk(&mut response).await,
                Some(_) => timeout(AFTERWARDS, response.chunk()).await.ok().and_then(Result::ok).flatten(),
            };
            let Some(chunk) = chunk else { return };
            let mut rest = &chunk[..];
            while let Ok(Some(event)) = reading.decoder.decode(&mut rest) {
                if let Some(id) = &event.id {
                    reading.last_event_id = Some(id.to_string());
                }
                if !event.data.is_empty() {
                    self.message(reading, &event.data).await;
                }
            }
            if let Some(retry) = reading.decoder.retry() {
                reading.retry = retry;
            }
        }
    }

    /// One message on the call's stream.
    async fn message(&mut self, reading: &mut Reading, data: &[u8]) {
        let (log, call) = (&self.client.log, self.number);
        let Ok(message) = serde_json::from_slice::<Value>(data) else {
            return log.note(What::Stray { call });
        };
        match message["method"].as_str() {
            None if message["id"] == json!(reading.id) => {
                let step = self.answered(message, reading.id);
                // The first answer counts for the client; the checker counts all of them.
                reading.step.get_or_insert(step);
            }
            Some("notifications/progress") => {
                let (params, own) = (&message["params"], json!(reading.id));
                let progress = params["progress"].as_f64().filter(|_| params["progressToken"] == own);
                log.note(match progress {
                    Some(step) if step.fract() == 0.0 => What::Progress { call, step: step as u32 },
                    Some(between) => What::SignOfLife { call, after: between as u32 },
                    None => What::Stray { call },
                });
            }
            Some("elicitation/create") => self.asked(reading, &message).await,
            Some("notifications/message" | "notifications/cancelled") => {}
            _ => log.note(What::Stray { call }),
        }
    }

    /// The user is asked, and the reply goes on a connection of its own.
    async fn asked(&mut self, reading: &mut Reading, message: &Value) {
        let (client, call) = (self.client, self.number);
        client.log.note(What::Asked { call, question: fingerprint(&message["id"].to_string()) });
        if client.revision.era() == Era::Modern {
            return client.log.note(What::Stray { call });
        }
        let reply = Ask::reply(message["id"].clone(), self.says());
        let taken = Box::pin(client.call(self.session, &reply)).await;
        match taken.end {
            End::Done => client.log.note(What::Replied { call }),
            End::SessionLost => reading.step = Some(Step::over(End::SessionLost)),
            _ => {}
        }
    }
}

/// A number that tells texts apart.
fn fingerprint(text: &str) -> u32 {
    // FNV-1a.
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
