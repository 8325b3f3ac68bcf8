//! Very many clients that do nothing but listen.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::Uri;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    runtime::Runtime,
    sync::Semaphore,
    task::JoinHandle,
    time::{sleep, timeout},
};
use trunkline_protocol::{Revision, revision::Era, sse::Decoder};

use super::{
    history::Kind,
    http::{Http, Response},
    message::{Ask, Message, Round, Target, hello},
    session::Session,
};

/// How many are opened at the same time: enough to keep the servers busy, and few enough not to time out.
const AT_ONCE: usize = 64;

/// How long one may take to open.
const OPEN: Duration = Duration::from_secs(60);

/// How often one tries again that is refused or not connected.
const TRIES: u32 = 20;

/// How often it is looked whether all have heard.
const LOOK: Duration = Duration::from_millis(20);

/// How long it is waited for duplicates once everybody has heard.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// The largest body that is no stream.
const BODY: usize = 1 << 20;

/// Open streams that listen. They are closed when this is dropped.
pub struct Crowd {
    /// `None` once dropped.
    runtime: Option<Runtime>,
    members: Vec<Arc<Member>>,
    name: String,
    urls: Vec<Uri>,
    /// Where changes are made, if not at one of `urls`.
    publisher: Option<Uri>,
    broadcasts: u16,
    next: u16,
}

/// Why a crowd could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum CrowdError {
    /// A URL is none of an endpoint over HTTP.
    #[error("{url:?} is no http URL")]
    Url {
        /// What was given.
        url: String,
    },
    /// The threads could not be started.
    #[error("no threads for the listeners")]
    Runtime(#[source] std::io::Error),
    /// One could not be opened.
    #[error("listener {index}: {reason}")]
    Member {
        /// Which.
        index: usize,
        /// Why.
        reason: String,
    },
}

/// What became of one broadcast.
#[derive(Clone, Debug)]
pub struct Reach {
    /// How long it took to each that heard it, shortest first, from the moment at which it was sent.
    pub times: Vec<Duration>,
    /// How many did not hear it.
    pub missed: usize,
    /// How often it was heard beyond once each.
    pub again: usize,
}

/// One that listens.
#[derive(Default)]
struct Member {
    heard: Mutex<Vec<(u16, Instant)>>,
    over: Mutex<Option<String>>,
}

/// One that is being opened.
struct Opening {
    http: Http,
    path: String,
    revision: Revision,
    uris: Vec<String>,
}

// === impl Reach ===

impl Reach {
    /// The time within which that share of those who heard it did.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let place = (self.times.len() as f64 * share).ceil() as usize;
        self.times.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }
}

// === impl Crowd ===

impl Crowd {
    /// Opens so many streams, spread over the endpoints, half of them with sessions. They subscribe to what
    /// [`Crowd::broadcast`] will change as often as `broadcasts` says.
    ///
    /// # Errors
    /// The first that could not be opened.
    pub async fn open(urls: &[String], count: usize, broadcasts: u16) -> Result<Self, CrowdError> {
        let urls: Vec<Uri> = urls.iter().map(|url| parse(url)).collect::<Result<_, _>>()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("crowd")
            .enable_all()
            .build()
            .map_err(CrowdError::Runtime)?;
        let name = format!("{:x}", rand::random::<u32>());
        let (runtime, members) = (Some(runtime), Vec::new());
        let mut crowd = Self { runtime, members, name, urls, publisher: None, broadcasts, next: 0 };
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let opening: Vec<_> = (0..count).map(|index| crowd.join(index, permits.clone())).collect();
        for (index, opening) in opening.into_iter().enumerate() {
            let opened = opening.await.map_err(|error| error.to_string()).and_then(|opened| opened);
            let member = opened.map_err(|reason| CrowdError::Member { index, reason })?;
            crowd.members.push(member);
        }
        Ok(crowd)
    }

    /// Changes a resource that all listen to, by way of one of the endpoints, and waits until all have heard of it or the
    /// time is over.
    ///
    /// # Errors
    /// If it could not be changed.
    pub async fn broadcast(&mut self, limit: Duration) -> Result<Reach, CrowdError> {
        let began = Instant::now();
        let round = self.announce(1).await?;
        while began.elapsed() < limit && self.members.iter().any(|member| member.times(round).is_empty()) {
            sleep(LOOK).await;
        }
        sleep(AFTERWARDS).await;
        let mut reach = Reach { times: Vec::new(), missed: 0, again: 0 };
        for member in &self.members {
            let times = member.times(round);
            match times.first() {
                Some(first) => reach.times.push(first.saturating_duration_since(began)),
                None => reach.missed += 1,
            }
            reach.again += times.len().saturating_sub(1);
        }
        reach.times.sort_unstable();
        Ok(reach)
    }

    /// Has all changes made by way of this endpoint from now on, which needs none of the streams.
    ///
    /// # Errors
    /// If it is no URL.
    pub fn publish_by(&mut self, url: &str) -> Result<(), CrowdError> {
        self.publisher = Some(parse(url)?);
        Ok(())
    }

    /// Changes the next resource that all listen to so many times, one after the other, and waits for nobody to hear of it.
    /// Returns the number by which [`Crowd::astray`] knows it.
    ///
    /// # Errors
    /// If it could not be changed.
    pub async fn announce(&mut self, times: usize) -> Result<u16, CrowdError> {
        let round = self.next;
        self.next += 1;
        let url = self.publisher.as_ref().unwrap_or(&self.urls[usize::from(round) % self.urls.len()]);
        let one = Opening::new(url, Revision::V2026_07_28, Vec::new());
        let ask = Ask::tool(Kind::Prime, "touch", &json!({"uri": uri(&self.name, round)}));
        let touched = self.spawn(async move {
            for _ in 0..times {
                let _read = one.request(&Session::none(), &ask).await?.body(BODY).await;
            }
            Ok(())
        });
        let touched = touched.await.map_err(|error| error.to_string()).and_then(|touched| touched);
        touched.map_err(|reason| CrowdError::Member { index: 0, reason })?;
        Ok(round)
    }

    /// Waits until all have heard of so many changes or the time is over; and how many were not heard of, and how many too
    /// often, by all together.
    pub async fn astray(&self, round: u16, times: usize, limit: Duration) -> (usize, usize) {
        let heard = |member: &Arc<Member>| member.times(round).len();
        let began = Instant::now();
        while began.elapsed() < limit && self.members.iter().any(|member| heard(member) < times) {
            sleep(LOOK).await;
        }
        sleep(AFTERWARDS).await;
        self.members.iter().map(heard).fold((0, 0), |(missed, again), heard| {
            (missed + times.saturating_sub(heard), again + heard.saturating_sub(times))
        })
    }

    /// Why streams have ended that should be open: how many, and what one of them says.
    #[must_use]
    pub fn ended(&self) -> (usize, Option<String>) {
        let ended: Vec<String> =
            self.members.iter().filter_map(|member| member.over.lock().clone()).collect();
        (ended.len(), ended.into_iter().next())
    }

    fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime.as_ref().expect("invariant: it is there until this is dropped").spawn(task)
    }

    fn join(&self, index: usize, permits: Arc<Semaphore>) -> JoinHandle<Result<Arc<Member>, String>> {
        let revision = if index.is_multiple_of(2) { Revision::V2025_11_25 } else { Revision::V2026_07_28 };
        let uris = (0..self.broadcasts).map(|round| uri(&self.name, round)).collect();
        // Halves, so that each endpoint has some of both revisions.
        let opening = Opening::new(&self.urls[index / 2 % self.urls.len()], revision, uris);
        self.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let member = Arc::new(Member::default());
            let (opened, is_open) = tokio::sync::oneshot::channel();
            drop(tokio::spawn(opening.listen(member.clone(), opened)));
            match timeout(OPEN, is_open).await {
                Ok(Ok(())) => Ok(member),
                _ => Err(member.over.lock().clone().unwrap_or_else(|| "not open in time".to_owned())),
            }
        })
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Without waiting, which is not allowed among tasks.
            runtime.shutdown_background();
        }
    }
}

// === impl Member ===

impl Member {
    /// When it heard of a change.
    fn times(&self, round: u16) -> Vec<Instant> {
        let heard = self.heard.lock();
        heard.iter().filter(|(heard, _)| *heard == round).map(|(_, at)| *at).collect()
    }

    fn take(&self, data: &[u8]) {
        let now = Instant::now();
        let message: Value = serde_json::from_slice(data).unwrap_or_default();
        let uri = message["params"]["uri"].as_str().unwrap_or_default();
        let round = uri.rsplit_once('-').and_then(|(_, round)| round.parse().ok());
        if let Some(round) = round {
            self.heard.lock().push((round, now));
        }
    }
}

// === impl Opening ===

impl Opening {
    fn new(url: &Uri, revision: Revision, uris: Vec<String>) -> Self {
        Self { http: Http::new(url), path: url.path().to_owned(), revision, uris }
    }

    /// Opens the stream, and reads it for as long as it is open.
    async fn listen(self, member: Arc<Member>, opened: tokio::sync::oneshot::Sender<()>) {
        let reason = match self.open().await {
            Ok(response) => {
                let _told = opened.send(());
                read(response, &member).await;
                "the stream ended".to_owned()
            }
            Err(reason) => reason,
        };
        *member.over.lock() = Some(reason);
    }

    async fn open(&self) -> Result<Response<'_>, String> {
        if self.revision.era() == Era::Modern {
            let params = json!({"notifications": {"resourceSubscriptions": self.uris}});
            let message = Message::Request { method: "subscriptions/listen", params };
            return self.request(&Session::none(), &Ask { kind: Kind::Listen, message }).await;
        }
        let hello = Ask::plumbing("initialize", hello(self.revision));
        let mut greeted = self.request(&Session::none(), &hello).await?;
        let id = greeted.header("mcp-session-id").ok_or("no session")?.to_owned();
        let _read = greeted.body(BODY).await;
        let session = Session { number: 1, id: Some(id) };
        let subscribe = |uri: &String| Ask::plumbing("resources/subscribe", json!({"uri": uri}));
        let asks = self.uris.iter().map(subscribe);
        for ask in [Ask::notification("notifications/initialized")].into_iter().chain(asks) {
            let _read = self.request(&session, &ask).await?.body(BODY).await;
        }
        self.until_served(|| self.target().get(&session, None)).await
    }

    fn target(&self) -> Target<'_> {
        Target { path: &self.path, host: self.http.host(), revision: self.revision }
    }

    async fn request(&self, session: &Session, ask: &Ask) -> Result<Response<'_>, String> {
        self.until_served(|| self.target().post(session, ask, 1, &Round::default())).await
    }

    /// Sends a request until it is served.
    async fn until_served(
        &self,
        request: impl Fn() -> hyper::Request<http_body_util::Full<bytes::Bytes>>,
    ) -> Result<Response<'_>, String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            match self.http.send(request()).await {
                Ok(response) if response.status.is_success() => return Ok(response),
                Ok(response) => {
                    last = response.status.to_string();
                    sleep(response.retry_after().unwrap_or(LOOK)).await;
                }
                Err(broke) => {
                    last = format!("{broke:?}");
                    sleep(LOOK).await;
                }
            }
        }
        Err(last)
    }
}

async fn read(mut response: Response<'_>, member: &Member) {
    let mut decoder = Decoder::default();
    while let Ok(Some(chunk)) = response.chunk().await {
        let mut rest = &chunk[..];
        while let Ok(Some(event)) = decoder.decode(&mut rest) {
            if !event.data.is_empty() {
                member.take(&event.data);
            }
        }
    }
}

fn parse(url: &str) -> Result<Uri, CrowdError> {
    let parsed: Result<Uri, _> = url.parse();
    let valid = parsed.ok().filter(|parsed| parsed.authority().is_some() && !url.is_empty());
    valid.ok_or_else(|| CrowdError::Url { url: url.to_owned() })
}

/// The name of what is changed in one round.
fn uri(name: &str, round: u16) -> String {
    format!("demo://notes/{name}-{round}")
}
