//! Requests of HTTP/2 whose client has reset their stream, or has gone with the connection.
//!
//! The HTTP library lets go of a request of HTTP/1 as soon as its client has closed the connection. One of HTTP/2 it hands to
//! a task of its own, which finds out when it next writes: a call that says nothing would go on for nobody, and a stream would
//! stay open. Here the request's own stream is asked now and then whether it is still there.
//!
//! Not covered: a request whose body was sent and is not read by anybody. That its client has gone is seen at the next write.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use actix_http::{Payload, Request};
use actix_service::Service;
use actix_web::{
    HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::ServiceResponse,
    error::PayloadError,
};
use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep, sleep};

/// When it is asked first. Nearly every request is over by then.
const FIRST: Duration = Duration::from_millis(200);

/// The longest pause between two times. Pauses double until then: tens of thousands of quiet streams are asked all the time.
const LONGEST: Duration = Duration::from_secs(2);

/// The stream of one request of HTTP/2, shared by who reads its body and who asks whether it is there. Both are one task.
#[derive(Clone)]
struct Wire(Rc<RefCell<Incoming>>);

struct Incoming {
    payload: Payload,
    /// Taken from the stream when it was asked, and not read yet.
    ahead: Option<Result<Bytes, PayloadError>>,
}

/// The body of a response, until its stream is reset.
struct Watched {
    body: BoxBody,
    wire: Wire,
    pause: Duration,
    timer: Pin<Box<Sleep>>,
}

/// Serves a request, and lets go of it when its stream is reset. What it has begun elsewhere goes on or ends as it would with
/// a closed connection of HTTP/1.
pub(super) fn serve<S>(
    mut request: Request,
    app: &S,
) -> impl Future<Output = Result<ServiceResponse, HttpResponse>> + use<S>
where
    S: Service<Request, Response = ServiceResponse, Error = HttpResponse>,
{
    let wire = Wire::of(&mut request);
    let answer = app.call(request);
    async move {
        let Some(wire) = wire else { return answer.await };
        let response = tokio::select! {
            biased;
            response = answer => response?,
            // Nobody gets it.
            () = wire.closed() => return Err(HttpResponse::RequestTimeout().finish()),
        };
        Ok(response.map_body(|_, body| match body.size() {
            BodySize::Stream => {
                MessageBody::boxed(Watched { body, wire, pause: FIRST, timer: Box::pin(sleep(FIRST)) })
            }
            _ => body,
        }))
    }
}

// === impl Wire ===

impl Wire {
    /// Puts itself between a request of HTTP/2 and its body; `None` for one of HTTP/1.
    fn of(request: &mut Request) -> Option<Self> {
        if !matches!(request.payload(), Payload::H2 { .. }) {
            return None;
        }
        let wire = Self(Rc::new(RefCell::new(Incoming { payload: request.take_payload(), ahead: None })));
        *request.payload() = Payload::Stream { payload: Box::pin(wire.clone()) };
        Some(wire)
    }

    /// Waits until the stream is reset.
    async fn closed(&self) {
        let mut pause = FIRST;
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
            if poll_fn(|context| Poll::Ready(self.is_closed(context))).await {
                return;
            }
        }
    }

    /// Whether the stream is reset. What comes of the body instead is kept for whoever reads it.
    fn is_closed(&self, context: &mut Context<'_>) -> bool {
        let Incoming { payload, ahead } = &mut *self.0.borrow_mut();
        if ahead.is_none() {
            // After its end a stream is read as ended again, unless it has been reset since.
            if let Poll::Ready(Some(next)) = Pin::new(payload).poll_next(context) {
                *ahead = Some(next);
            }
        }
        matches!(ahead, Some(Err(_)))
    }
}

impl Stream for Wire {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Incoming { payload, ahead } = &mut *self.0.borrow_mut();
        match ahead.take() {
            Some(next) => Poll::Ready(Some(next)),
            None => Pin::new(payload).poll_next(context),
        }
    }
}

// === impl Watched ===

impl MessageBody for Watched {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if let Poll::Ready(piece) = Pin::new(&mut self.body).poll_next(context) {
            return Poll::Ready(piece);
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            if self.wire.is_closed(context) {
                // Anything that is to be written: then the HTTP library sees what we have seen, and drops this body.
                return Poll::Ready(Some(Ok(Bytes::from_static(b"\n"))));
            }
            self.pause = (self.pause * 2).min(LONGEST);
            let next = Instant::now() + self.pause;
            self.timer.as_mut().reset(next);
        }
    }
}
