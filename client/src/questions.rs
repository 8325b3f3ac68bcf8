//! What a server may ask, and who answers.

use futures_util::future::BoxFuture;
use trunkline_protocol::{
    RpcError,
    model::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitParams,
        ElicitResult, InputRequest, InputResponse, ListRootsResult,
    },
};

/// Answers the questions of a server: as requests of its own up to 2025-11-25, and as rounds of a call from 2026-07-28 on.
///
/// [`Self::capabilities`] is declared to the server, and questions of other kinds are refused before they get here. Questions are
/// answered at the same time, up to [`crate::Limits::questions`]; the future of one that the server takes back is dropped.
pub trait Questions: Send + Sync + 'static {
    /// Which kinds are answered.
    fn capabilities(&self) -> ClientCapabilities;

    /// Asks the person. Without an implementation, nobody is there.
    fn elicit(&self, params: ElicitParams) -> impl Future<Output = Result<ElicitResult, RpcError>> + Send {
        let _nobody_reads_it = params;
        async { Ok(ElicitResult { action: ElicitAction::Cancel, content: None, meta: None }) }
    }

    /// Asks a model.
    fn sample(
        &self,
        params: CreateMessageParams,
    ) -> impl Future<Output = Result<CreateMessageResult, RpcError>> + Send {
        let _nobody_reads_it = params;
        async { Err(RpcError::method_not_found("sampling/createMessage")) }
    }

    /// Lists the folders that the client works on.
    fn roots(&self) -> impl Future<Output = Result<ListRootsResult, RpcError>> + Send {
        async { Err(RpcError::method_not_found("roots/list")) }
    }
}

/// [`Questions`] of any type.
pub(crate) trait DynQuestions: Send + Sync {
    /// Puts one question.
    fn ask(&self, question: InputRequest) -> BoxFuture<'_, Result<InputResponse, RpcError>>;
}

impl<T: Questions> DynQuestions for T {
    fn ask(&self, question: InputRequest) -> BoxFuture<'_, Result<InputResponse, RpcError>> {
        Box::pin(async move {
            match question {
                InputRequest::Elicit(params) => self.elicit(*params).await.map(InputResponse::Elicit),
                InputRequest::Sample(params) => {
                    self.sample(*params).await.map(|result| InputResponse::Sample(Box::new(result)))
                }
                InputRequest::Roots => self.roots().await.map(InputResponse::Roots),
            }
        })
    }
}
