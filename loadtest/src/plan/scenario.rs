//! What one virtual client does.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::Span;

/// What one virtual client does, again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is for, in a line.
    pub description: String,
    /// How clients begin.
    pub begin: Begin,
    /// How long a client's session lasts.
    pub life: Life,
    /// What a client listens to all the while, if it does.
    pub listen: Option<Listen>,
    /// What it does, each time one of these, drawn by their weights. Empty for a client that only listens.
    pub steps: Vec<Step>,
    /// In a closed loop, how long a client thinks between an answer and its next request: between half and one and a half
    /// of this, at random.
    pub think: Span,
}

/// How clients begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Begin {
    /// Spread evenly over a time.
    #[serde(rename = "spread")]
    Spread(Span),
    /// All in the same moment.
    #[serde(rename = "at-once")]
    AtOnce,
}

/// How long a client's session lasts, and how it ends. After its end the client opens a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Steps in one session; 0 for all steps of the run.
    pub steps: u32,
    /// Weights of the ways in which it ends.
    pub end: End,
}

/// Weights of the ways in which a session ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct End {
    /// With DELETE.
    pub delete: u32,
    /// Without a word, connections closed.
    pub abandon: u32,
    /// Without a word, once the next one is open.
    pub refresh: u32,
}

/// What a client listens to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listen {
    /// Resources that each client subscribes to and changes itself by calling `tool`, one after the other and round and
    /// round, so that it knows the next. 0 to only hold the stream open.
    pub ring: u16,
    /// The resources' URIs: `{client}` is the client's name, unique in the run, and `{slot}` the resource's number.
    pub uri: String,
    /// The tool that announces a change of the resource in its argument `uri`.
    pub tool: String,
    /// How long a client waits between two changes; between half and one and a half of this, at random.
    pub every: Span,
}

/// Something that a client may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How often, relative to the other steps.
    pub weight: u32,
    /// What.
    pub action: Action,
}

/// What a step does. All but [`Tool`](Self::Tool), [`ListTools`](Self::ListTools), [`ListResources`](Self::ListResources),
/// [`Read`](Self::Read) and [`Ping`](Self::Ping) use tools of the demonstration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Action {
    /// `add` of two numbers whose sum no other request has.
    Add,
    /// `echo` of a text that no other request has.
    Echo {
        /// How long it is.
        bytes: Sizes,
    },
    /// `payload`.
    Payload {
        /// How long it is.
        bytes: Sizes,
    },
    /// `counter`, of a counter that only this client counts.
    Counter,
    /// `remember`, then `recall`: two requests.
    Remember,
    /// `confirm`, answered with yes or no.
    Confirm {
        /// How long the answer takes.
        delay: Span,
    },
    /// `slow` with progress.
    Slow {
        /// How long it takes.
        takes: Span,
        /// How often it tells of progress.
        steps: u32,
    },
    /// `slow`, cancelled halfway.
    Cancel {
        /// How long it would take.
        takes: Span,
    },
    /// `slow`, whose connection is broken halfway; the client resumes.
    Cut {
        /// How long it takes.
        takes: Span,
    },
    /// `slow` as a task, polled until it is done, where the revision and the server have tasks.
    Task {
        /// How long it takes.
        takes: Span,
    },
    /// `tools/list`.
    ListTools,
    /// `resources/list`.
    ListResources,
    /// `resources/read`.
    Read {
        /// The resource.
        uri: String,
    },
    /// `ping`; on a revision without it `tools/list`.
    Ping,
    /// Any tool of any server.
    Tool(ToolCall),
}

/// A call of any tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// Its arguments; texts in them may hold templates.
    pub arguments: Vec<(String, Argument)>,
    /// What the result must be.
    pub expect: Vec<Expectation>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Argument {
    /// Always the same.
    Fixed(Value),
    /// A text with `{client}`, `{sequence}`, `{unique}` or `{random A B}` in it.
    Text(String),
    /// A whole number that such a text stands for.
    Number(String),
}

/// One thing that a result must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Where in the result, as a JSON pointer.
    pub pointer: String,
    /// What is there.
    pub expect: Expect,
}

/// What is expected at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// This value.
    Equals(Value),
    /// What this argument of the same call was.
    EqualsArgument(String),
    /// A text that holds this one; templates as in arguments are filled in with the call's own values.
    Contains(String),
    /// A value of this JSON type: `string`, `number`, `integer`, `boolean`, `array`, `object`, `null`.
    Is(String),
    /// Nothing.
    Absent,
}

/// How large something is: each size between two bounds, at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The smallest, in bytes.
    pub least: u32,
    /// The largest.
    pub most: u32,
}

// === impl Scenario ===

impl Default for Scenario {
    /// Calls of `add` alone, without thinking.
    fn default() -> Self {
        Self {
            name: "add".to_owned(),
            description: "Calls of add".to_owned(),
            begin: Begin::AtOnce,
            life: Life::default(),
            listen: None,
            steps: vec![Step { weight: 1, action: Action::Add }],
            think: Span::default(),
        }
    }
}
