//! The SDK's HTTP client, watched: which session it was given, and how its end was answered.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

/// What a connection left behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) session: Option<String>,
    /// One entry for each DELETE: what went wrong, if anything did.
    pub(crate) deletes: Vec<Option<String>>,
}

/// An HTTP client that does what `reqwest` does and notes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    inner: reqwest::Client,
    seen: Arc<Mutex<Seen>>,
}

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

// === impl Watched ===

impl Watched {
    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl StreamableHttpClient for Watched {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let answer = self.inner.post_message(uri, message, session_id, auth_header, custom_headers).await?;
        if let StreamableHttpPostResponse::Json(_, Some(id)) | StreamableHttpPostResponse::Sse(_, Some(id)) =
            &answer
        {
            self.note(|seen| seen.session = Some(id.clone()));
        }
        Ok(answer)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let answer = self.inner.delete_session(uri, session_id, auth_header, custom_headers).await;
        self.note(|seen| seen.deletes.push(answer.as_ref().err().map(ToString::to_string)));
        answer
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.inner.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }
}
