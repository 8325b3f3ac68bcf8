//! A stream of server-sent events as the body of a response.

use std::time::Duration;

use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures_util::stream::unfold;
use tokio::time::{Instant, sleep_until};
use trunkline_protocol::sse::{Event, write_comment, write_event};

use super::{
    Endpoint,
    feed::{Ends, Feed, Piece},
    reply,
};
use crate::cancel::CancelOnDrop;

/// How long a client waits before it comes back to a stream that we ended, before jitter.
const RETRY: Duration = Duration::from_millis(500);

/// One open stream. Dropped when the connection closes, which is when everything it holds is let go.
struct Open {
    feed: Feed,
    ends: Ends,
    keep_alive: Duration,
    /// When it has been open long enough: streams spread over replicas that came later. `None` for one that ends with its
    /// call and cannot be come back to.
    until: Option<Instant>,
    /// What is written when the server ends it.
    farewell: Option<Bytes>,
    phase: Phase,
    /// Cancels the request in revisions where a closed stream means that.
    guard: Option<CancelOnDrop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing has been written.
    New,
    /// Under way.
    Flowing,
    /// All is written.
    Over,
}

/// What happens next on a stream.
enum Next {
    Piece(Option<Piece>),
    KeepAlive,
    End,
}

/// Answers with a stream. `guard` cancels the request when the client closes it early.
pub(super) fn sse(
    endpoint: &web::Data<Endpoint>,
    feed: Feed,
    ends: Ends,
    guard: Option<CancelOnDrop>,
) -> HttpResponse {
    open(endpoint, feed, ends, guard, None)
}

/// Answers with a stream that says something when the server ends it.
pub(super) fn open(
    endpoint: &web::Data<Endpoint>,
    feed: Feed,
    ends: Ends,
    guard: Option<CancelOnDrop>,
    farewell: Option<Bytes>,
) -> HttpResponse {
    let age = endpoint.settings.max_age;
    // Between nine tenths and all of it, so that streams which began together do not end together.
    let age = age.mul_f64(rand::random_range(0.9..=1.0));
    let until = (!matches!(feed, Feed::Queue(_))).then(|| Instant::now() + age);
    let open = Open {
        feed,
        ends,
        keep_alive: endpoint.settings.keep_alive,
        until,
        farewell,
        phase: Phase::New,
        guard,
    };
    let pieces = unfold(open, |mut open| async move {
        let bytes = open.next().await?;
        Some((Ok::<_, actix_web::Error>(bytes), open))
    });
    reply::stream(endpoint).streaming(Box::pin(pieces))
}

// === impl Open ===

impl Open {
    async fn next(&mut self) -> Option<Bytes> {
        match self.phase {
            Phase::Over => None,
            Phase::New => Some(self.begin().await),
            Phase::Flowing => self.go_on().await,
        }
    }

    /// The first bytes: what is there already, or a comment, so that nothing on the way holds the head back.
    async fn begin(&mut self) -> Bytes {
        self.phase = Phase::Flowing;
        let first = futures_util::FutureExt::now_or_never(Box::pin(self.feed.next()));
        match first {
            Some(piece) => self.write(Next::Piece(piece)),
            None => comment("open"),
        }
    }

    async fn go_on(&mut self) -> Option<Bytes> {
        let pause = Instant::now() + self.keep_alive;
        let next = tokio::select! {
            biased;
            piece = self.feed.next() => Next::Piece(piece),
            () = self.ends.ended() => Next::End,
            () = sleep_until(self.until.map_or(pause, |until| until.min(pause))) => {
                if self.until.is_some_and(|until| until <= Instant::now()) { Next::End } else { Next::KeepAlive }
            }
        };
        if matches!(next, Next::KeepAlive) {
            self.ends.keep_alive().await;
        }
        let bytes = self.write(next);
        (!bytes.is_empty()).then_some(bytes)
    }

    fn write(&mut self, next: Next) -> Bytes {
        let mut out = Vec::with_capacity(256);
        match next {
            Next::Piece(Some(Piece::Message { id, data })) => {
                write_event(&mut out, &Event { id: id.as_deref(), ..Event::message(&data) });
            }
            Next::Piece(Some(Piece::Priming(id))) => {
                write_event(&mut out, &Event::priming(&id, Some(retry())));
            }
            Next::Piece(Some(Piece::Endpoint(url))) => {
                write_event(&mut out, &Event { event: Some("endpoint"), ..Event::message(&url) });
            }
            Next::Piece(Some(Piece::Gap)) => write_comment(&mut out, "some events are no longer kept"),
            Next::Piece(None) => self.finish(),
            Next::KeepAlive => write_comment(&mut out, "keep-alive"),
            Next::End => {
                if let Some(farewell) = self.farewell.take() {
                    write_event(&mut out, &Event::message(&farewell));
                } else if self.ends.may_resume() {
                    let _written = std::fmt::Write::write_fmt(
                        &mut Text(&mut out),
                        format_args!("retry: {}\n\n", retry().as_millis()),
                    );
                }
                self.phase = Phase::Over;
            }
        }
        out.into()
    }

    /// The feed has ended by itself: the request is done, and nothing is left to cancel.
    fn finish(&mut self) {
        self.phase = Phase::Over;
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}

/// Text written into bytes.
struct Text<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// A pause with jitter.
fn retry() -> Duration {
    RETRY.mul_f64(rand::random_range(1.0..3.0))
}

fn comment(text: &str) -> Bytes {
    let mut out = Vec::with_capacity(16);
    write_comment(&mut out, text);
    out.into()
}
