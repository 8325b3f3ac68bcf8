//! One request, its answer, and what happened on the way.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use http::header::HeaderValue;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline_protocol::{Method, header::encode_mirrored, model::ProgressParams};

use crate::{error::Error, notifications::Notification};

/// A request to be sent. Cheap to clone: a prepared one can be sent a million times.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method's name.
    pub method: Cow<'static, str>,
    /// The parameters: a JSON object without the members of `_meta` that the client writes itself. Empty means none. They
    /// are sent as they are; that they are JSON is the caller's word, except for the outermost braces.
    pub params: Bytes,
    /// The name of the tool or prompt, or the resource's URI, as the header `Mcp-Name` has it. Absent, it is read from
    /// the parameters where it is needed.
    pub(crate) name: Option<HeaderValue>,
    /// Where progress goes. Asks the server for it. What finds no room there is dropped and counted in
    /// [`Trace::dropped`].
    pub progress: Option<mpsc::Sender<ProgressParams>>,
    /// Where the other notifications on the call's own stream go; what finds no room is dropped and counted.
    pub notifications: Option<mpsc::Sender<Notification>>,
    /// Cancels the call. On the older revisions the server is told; on 2026-07-28 the stream is closed, which tells it.
    pub cancel: Option<CancellationToken>,
    /// Breaks the call's connection when it fires, once, as a cut network would: the call goes on as after any other break.
    /// Over HTTP only. For tests of a server.
    pub cut: Option<CancellationToken>,
    /// The longest wait for the answer, from now and with all repetitions. Absent, it is the client's
    /// ([`crate::Builder::timeout`]).
    pub timeout: Option<Duration>,
    /// Whether progress starts the timeout anew.
    pub reset_on_progress: bool,
    /// Whether the request may be served twice. Lists and reads always may.
    pub repeatable: bool,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The `result`: JSON.
    pub result: Bytes,
    /// What happened on the way.
    pub trace: Trace,
}

/// What happened on the way to an answer, or to an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The HTTP status of the last answer; 0 without one.
    pub status: u16,
    /// Which replica answered last, where it says so (`x-trunkline-replica`).
    pub(crate) replica: Option<Box<str>>,
    /// The messages that were sent for this call, repetitions and further rounds included.
    pub sent: u32,
    /// How often a broken stream was taken up again.
    pub resumed: u32,
    /// How often a request was sent again after a refusal or a failed connection.
    pub retried: u32,
    /// How often its connection was broken on purpose ([`Call::cut`]).
    pub cut: u32,
    /// The rounds of questions (`input_required`) that were answered.
    pub rounds: u32,
    /// New sessions that were opened since the server did not know the old one any more. What the old one held
    /// is gone.
    pub renewed: u32,
    /// Whether the answer came on a stream.
    pub streamed: bool,
    /// Whether the answer came out of the client's own cache: nothing was sent.
    pub cached: bool,
    /// Notifications of the call's stream that found no room, or nobody to take them.
    pub dropped: u32,
    /// Answers on the call's stream to requests that were not asked.
    pub stray: u32,
    /// The bytes of the bodies that were sent.
    pub bytes_out: u64,
    /// The bytes of the bodies that were received.
    pub bytes_in: u64,
}

// === impl Call ===

impl Call {
    /// A request of any method. `params` is a JSON object, or empty.
    #[must_use]
    pub fn new(method: impl Into<Cow<'static, str>>, params: impl Into<Bytes>) -> Self {
        Self {
            method: method.into(),
            params: params.into(),
            name: None,
            progress: None,
            notifications: None,
            cancel: None,
            cut: None,
            timeout: None,
            reset_on_progress: false,
            repeatable: false,
        }
    }

    /// A request whose parameters are a value.
    ///
    /// # Errors
    /// [`Error::Refused`] if the value cannot be written as JSON.
    pub fn with_params(method: Method, params: &impl Serialize) -> Result<Self, Error> {
        let params = serde_json::to_vec(params)
            .map_err(|error| Error::Refused(format!("the parameters of {method} are not JSON: {error}")))?;
        Ok(Self::new(method.name(), params))
    }

    /// A `tools/call`. `arguments` is a JSON object, sent as it is; empty means none.
    #[must_use]
    pub fn tool(name: &str, arguments: &str) -> Self {
        #[derive(Serialize)]
        struct Named<'a> {
            name: &'a str,
        }
        let mut params = Vec::with_capacity(name.len() + arguments.len() + 32);
        trunkline_protocol::jsonrpc::write_json(&mut params, &Named { name });
        if !arguments.is_empty() {
            params.pop();
            params.extend_from_slice(b",\"arguments\":");
            params.extend_from_slice(arguments.as_bytes());
            params.push(b'}');
        }
        Self::new(Method::ToolsCall.name(), params).named(name)
    }

    /// Names the tool, prompt or resource, so that it need not be read from the parameters.
    #[must_use]
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = HeaderValue::from_str(&encode_mirrored(name)).ok();
        self
    }

    /// Asks for progress.
    #[must_use]
    pub fn progress(mut self, sender: mpsc::Sender<ProgressParams>) -> Self {
        self.progress = Some(sender);
        self
    }

    /// Takes the notifications of the call's own stream.
    #[must_use]
    pub fn notifications(mut self, sender: mpsc::Sender<Notification>) -> Self {
        self.notifications = Some(sender);
        self
    }

    /// Lets it be cancelled.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Breaks the call's connection when the token fires. See [`Call::cut`](Self#structfield.cut).
    #[must_use]
    pub fn cut(mut self, token: CancellationToken) -> Self {
        self.cut = Some(token);
        self
    }

    /// Bounds the wait for the answer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Starts the timeout anew with each progress notification.
    #[must_use]
    pub fn reset_on_progress(mut self) -> Self {
        self.reset_on_progress = true;
        self
    }

    /// Says that serving it twice does no more than serving it once.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Whether it may be sent again although it may have been served.
    pub(crate) fn may_repeat(&self) -> bool {
        self.repeatable
            || matches!(
                &*self.method,
                "tools/list"
                    | "resources/list"
                    | "resources/templates/list"
                    | "resources/read"
                    | "prompts/list"
                    | "prompts/get"
                    | "completion/complete"
                    | "server/discover"
                    | "ping"
                    | "tasks/get"
                    | "tasks/list"
                    | "tasks/result"
            )
    }
}

// === impl Answer ===

impl Answer {
    /// Reads the result.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is not what was expected.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.result)
            .map_err(|error| Error::malformed(format!("the result does not fit its method: {error}")))
    }

    /// Reads the result without copying its strings.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn borrow<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        serde_json::from_slice(&self.result)
            .map_err(|error| Error::malformed(format!("the result does not fit its method: {error}")))
    }
}

// === impl Trace ===

impl Trace {
    /// Which replica answered last, where it says so.
    #[must_use]
    pub fn replica(&self) -> Option<&str> {
        self.replica.as_deref()
    }
}
