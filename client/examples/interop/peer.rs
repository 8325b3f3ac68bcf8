//! The client, as the steps use it: values in, values out.

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use trunkline_client::{Call, Client, Notifications};
use trunkline_protocol::{
    Method,
    model::{ListenFilter, ProgressParams},
};

use crate::{Failure, options::Options, person::Person};

/// What every server has to read, and to tell changes of.
pub(crate) const GREETING: &str = "interop://greeting";

/// A connection.
pub(crate) struct Peer {
    pub(crate) client: Client,
    pub(crate) person: Person,
    /// Changes of the tools and of the greeting. Heard from the start: over HTTP it is the stream that a server's questions
    /// may come on, too.
    pub(crate) heard: Mutex<Option<Notifications>>,
    /// Whether the revision is the expected one.
    pub(crate) revision: Result<(), String>,
}

/// What a tool answered.
pub(crate) struct Called {
    pub(crate) text: String,
    pub(crate) structured: Value,
    pub(crate) is_error: bool,
}

// === impl Peer ===

impl Peer {
    pub(crate) async fn connect(options: &Options) -> Result<Self, Failure> {
        let person = Person::default();
        let client = options.builder()?.questions(person.clone()).connect().await?;
        let revision = match options.expect {
            Some(expected) if expected != client.revision() => {
                Err(format!("speaks {}, not {expected}", client.revision()))
            }
            _ => Ok(()),
        };
        let filter = ListenFilter {
            tools_list_changed: true,
            resource_subscriptions: vec![GREETING.to_owned()],
            ..ListenFilter::default()
        };
        let heard = Mutex::new(Some(client.listen(filter)));
        Ok(Self { client, person, heard, revision })
    }

    /// One request with its result.
    pub(crate) async fn ask(&self, method: Method, params: &Value) -> Result<Value, Failure> {
        let answer = self.client.raw(&Call::with_params(method, params)?).await?;
        Ok(answer.read()?)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Result<Called, Failure> {
        Called::read(&self.client.raw(&Call::tool(tool, &arguments.to_string())).await?.read::<Value>()?)
    }

    /// A call, and the progress that it made.
    pub(crate) async fn call_with_progress(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Called, Vec<ProgressParams>), Failure> {
        let (sender, mut progress) = mpsc::channel(100);
        let call = Call::tool(tool, &arguments.to_string()).progress(sender);
        let called = Called::read(&self.client.raw(&call).await?.read::<Value>()?)?;
        drop(call);
        let mut seen = Vec::new();
        while let Some(report) = progress.recv().await {
            seen.push(report);
        }
        Ok((called, seen))
    }

    /// A call that is cancelled when it has made progress.
    pub(crate) async fn cancel_after_progress(&self, tool: &str) -> Result<(), Failure> {
        let (sender, mut progress) = mpsc::channel(100);
        let token = CancellationToken::new();
        let call = Call::tool(tool, "{}").progress(sender).cancel(token.clone());
        let cancel = async {
            let begun = progress.recv().await;
            token.cancel();
            begun
        };
        let (outcome, begun) = tokio::join!(self.client.raw(&call), cancel);
        begun.ok_or("the call made no progress")?;
        match outcome {
            Ok(_) => Err("a cancelled call was answered".into()),
            Err(_cancelled) => Ok(()),
        }
    }
}

// === impl Called ===

impl Called {
    fn read(result: &Value) -> Result<Self, Failure> {
        let parts = result["content"].as_array().ok_or("a result without content")?;
        let text = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        let is_error = result.get("isError").unwrap_or(&json!(false)) == &json!(true);
        Ok(Self { text, structured: result["structuredContent"].clone(), is_error })
    }

    /// The text of a call that went well.
    pub(crate) fn text(self) -> Result<String, Failure> {
        if self.is_error { Err(format!("the tool failed: {}", self.text).into()) } else { Ok(self.text) }
    }
}
