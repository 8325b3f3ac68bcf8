//! What of a request its head repeats (2026-07-28 Streamable HTTP, *Request Metadata*).

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use http::header::{HeaderName, HeaderValue};
use parking_lot::RwLock;
use serde_json::Value;
use trunkline_protocol::{
    header::{Annotation, annotations, encode_mirrored, mirror_param},
    model::Tool,
    params::Params,
};

use crate::{call::Call, error::Error};

/// Which parameters of which tool are repeated, as the tools' last listing says.
pub(crate) struct Mirrored {
    tools: RwLock<HashMap<String, Arc<[Annotation]>>>,
    /// Most servers have none: then nothing is looked up.
    any: AtomicBool,
    limit: usize,
}

/// The headers of one call.
type Headers = (Option<HeaderValue>, Vec<(HeaderName, HeaderValue)>);

// === impl Mirrored ===

impl Mirrored {
    pub(super) fn new(limit: usize) -> Self {
        Self { tools: RwLock::default(), any: AtomicBool::new(false), limit }
    }

    /// Takes note of a listed tool. `false` if its definition is invalid, and it must not be offered.
    pub(crate) fn learn(&self, tool: &Tool) -> bool {
        let schema: Value = match serde_json::from_str(tool.input_schema.get()) {
            Ok(schema) => schema,
            Err(_) => return false,
        };
        match annotations(&schema) {
            Ok(found) => {
                self.note(&tool.name, found);
                true
            }
            Err(error) => {
                tracing::warn!(tool = tool.name, %error, "a tool is left out, since its definition is invalid");
                false
            }
        }
    }

    fn note(&self, name: &str, found: Vec<Annotation>) {
        if found.is_empty() {
            if self.any.load(Ordering::Acquire) {
                self.tools.write().remove(name);
            }
            return;
        }
        let mut tools = self.tools.write();
        if tools.len() < self.limit || tools.contains_key(name) {
            tools.insert(name.to_owned(), found.into());
            self.any.store(true, Ordering::Release);
        } else {
            tracing::warn!(
                tool = name,
                "too many tools mirror parameters; calls of this one will be refused"
            );
        }
    }

    /// The headers of a call: its name, and the parameters that are repeated.
    pub(super) fn headers(&self, call: &Call) -> Result<Headers, Error> {
        let is_tool = call.method == "tools/call";
        let task = matches!(&*call.method, "tasks/get" | "tasks/update" | "tasks/cancel");
        let named = is_tool || task || matches!(&*call.method, "resources/read" | "prompts/get");
        if !named {
            return Ok((None, Vec::new()));
        }
        let mirrors = is_tool && self.any.load(Ordering::Acquire);
        if let Some(name) = &call.name
            && !mirrors
        {
            return Ok((Some(name.clone()), Vec::new()));
        }
        let params: Params<'_> = serde_json::from_slice(&call.params).map_err(|error| {
            Error::Refused(format!("the parameters of {} do not fit: {error}", call.method))
        })?;
        let name = match &*call.method {
            "resources/read" => &params.uri,
            _ if task => &params.task_id,
            _ => &params.name,
        };
        let name = name.as_ref().ok_or_else(|| Error::Refused(format!("{} without a name", call.method)))?;
        let header = HeaderValue::from_str(&encode_mirrored(&name.0))
            .map_err(|_| Error::Refused("the name cannot stand in a header".to_owned()))?;
        let repeated = if mirrors { self.params(&name.0, &params)? } else { Vec::new() };
        Ok((Some(header), repeated))
    }

    fn params(&self, tool: &str, params: &Params<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
        let known = self.tools.read().get(tool).cloned();
        let (Some(known), Some(arguments)) = (known, params.arguments) else { return Ok(Vec::new()) };
        let arguments: Value = serde_json::from_str(arguments.get())
            .map_err(|error| Error::Refused(format!("the arguments of {tool} are not JSON: {error}")))?;
        let mut headers = Vec::with_capacity(known.len());
        for annotation in &*known {
            let refused = |error: &dyn std::fmt::Display| {
                Error::Refused(format!("the argument that {} repeats: {error}", annotation.header))
            };
            // What cannot be repeated goes without: the server says what is wrong with the argument itself.
            let Ok(Some(value)) = mirror_param(annotation.value(&arguments)) else { continue };
            let name =
                HeaderName::from_bytes(annotation.header.as_bytes()).map_err(|error| refused(&error))?;
            headers.push((name, HeaderValue::from_str(&value).map_err(|error| refused(&error))?));
        }
        Ok(headers)
    }
}
