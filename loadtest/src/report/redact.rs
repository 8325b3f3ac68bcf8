//! What no report shows: secrets, and where they may turn up all the same.

use std::collections::BTreeMap;

use crate::{
    plan::Plan,
    tally::{ErrorKind, Example, Examples},
};

/// Words in the name of an option whose value is nobody's business.
const SECRET: [&str; 10] =
    ["header", "bearer", "token", "secret", "password", "passwd", "key", "auth", "cookie", "credential"];

/// What stands in place of a secret.
const HIDDEN: &str = "(hidden)";

/// The shortest secret that is looked for in texts: what is shorter would be found everywhere.
const SHORTEST: usize = 5;

/// The secrets of a plan, which a server may quote in an error.
#[derive(Debug)]
pub(super) struct Secrets {
    /// What stands in place of each.
    hidden: Vec<(String, String)>,
}

// === impl Secrets ===

impl Secrets {
    /// Those of a plan: values of headers, tokens, and the URL with all that is in it.
    pub(super) fn of(plan: &Plan) -> Self {
        let headers = plan.headers.iter().flat_map(|(_, value)| {
            // Of `Bearer abc`, `abc` alone is no less a secret.
            [Some(value.as_str()), value.split_once(' ').map(|(_, rest)| rest)]
        });
        let bearers = plan.bearers.iter().map(|token| Some(token.as_str()));
        let mut hidden: Vec<(String, String)> =
            headers.chain(bearers).flatten().map(|secret| (secret.to_owned(), HIDDEN.to_owned())).collect();
        let url = redact_url(&plan.url);
        if url != plan.url {
            hidden.push((plan.url.clone(), url));
            let query = plan.url.split_once('?').map(|(_, query)| query.to_owned());
            hidden.extend(query.map(|query| (query, HIDDEN.to_owned())));
        }
        hidden.retain(|(secret, _)| secret.len() >= SHORTEST);
        Self { hidden }
    }

    /// The text without them.
    pub(super) fn hide(&self, text: &str) -> String {
        self.hidden.iter().fold(text.to_owned(), |text, (secret, instead)| text.replace(secret, instead))
    }

    /// Examples without them.
    pub(super) fn hide_in(&self, examples: &mut BTreeMap<ErrorKind, Examples>) {
        if self.hidden.is_empty() {
            return;
        }
        for kept in examples.values_mut() {
            let mut clean = Examples::default();
            kept.iter()
                .for_each(|example| clean.add(Example { text: self.hide(&example.text), ..example.clone() }));
            *kept = clean;
        }
    }
}

/// A command line without the values of options that hold secrets, and without users, passwords and queries of URLs.
/// The first argument, the program, is left with its name only.
#[must_use]
pub fn redact_command(arguments: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut redacted = Vec::new();
    let mut hide = false;
    for (index, argument) in arguments.into_iter().enumerate() {
        let option = argument.strip_prefix('-').map(|rest| rest.trim_start_matches('-'));
        let text = match option {
            _ if index == 0 => argument.rsplit('/').next().unwrap_or_default().to_owned(),
            _ if hide => HIDDEN.to_owned(),
            Some(option) => match option.split_once('=') {
                Some((name, _)) if is_secret(name) => {
                    format!("{}={HIDDEN}", &argument[..argument.find('=').unwrap_or(0)])
                }
                // `-HName: value`
                None if !argument.starts_with("--") && option.starts_with('H') && option.len() > 1 => {
                    format!("-H{HIDDEN}")
                }
                _ => redact_url(&argument),
            },
            None => redact_url(&argument),
        };
        hide = !hide && option.is_some_and(|option| !option.contains('=') && is_secret(option));
        redacted.push(text);
    }
    redacted
}

/// A URL without user, password, query and fragment. What is no URL stays as it is.
#[must_use]
pub fn redact_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (rest, more) = match rest.find(['?', '#']) {
        Some(at) => (&rest[..at], "?(hidden)"),
        None => (rest, ""),
    };
    let path = rest.find('/').unwrap_or(rest.len());
    let host = rest[..path].rfind('@').map_or(0, |at| at + 1);
    let user = if host > 0 { "(hidden)@" } else { "" };
    format!("{scheme}://{user}{}{more}", &rest[host..])
}

/// A scenario's text without the values of keys that sound like secrets: arguments of tools may hold some. Values with a
/// template in them are none. What is no TOML is left out altogether.
pub(super) fn redact_scenario(text: &str) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return String::new() };
    let mut found = false;
    table.iter_mut().for_each(|(key, value)| hide_value(key, value, &mut found));
    // As it was written, with its comments, where nothing is to be hidden.
    if found { toml::to_string(&table).unwrap_or_default() } else { text.to_owned() }
}

fn hide_value(key: &str, value: &mut toml::Value, found: &mut bool) {
    match value {
        toml::Value::String(text) if is_secret(key) && !text.contains('{') => {
            HIDDEN.clone_into(text);
            *found = true;
        }
        toml::Value::Table(table) => table.iter_mut().for_each(|(key, value)| hide_value(key, value, found)),
        toml::Value::Array(values) => values.iter_mut().for_each(|value| hide_value(key, value, found)),
        _ => {}
    }
}

fn is_secret(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    // `--ca-file` and the like name files, not their contents; what is hidden too much is only inconvenient.
    option == "h" || SECRET.iter().any(|word| option.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Operation;

    #[test]
    fn secrets_are_not_in_the_command() {
        let line = "/opt/bin/trunkline-loadtest run --url https://me:pw@host:1/mcp?key=1 --header X-Key:1 -H a:b \
                    --bearer=abc --clients 5 --shared-secret s3 --slo p99<5ms -HX:1 -h";
        let redacted = redact_command(line.split_whitespace().map(str::to_owned)).join(" ");
        assert_eq!(
            redacted,
            "trunkline-loadtest run --url https://(hidden)@host:1/mcp?(hidden) --header (hidden) -H (hidden) \
             --bearer=(hidden) --clients 5 --shared-secret (hidden) --slo p99<5ms -H(hidden) -h"
        );
    }

    #[test]
    fn a_scenarios_secrets_are_not_in_the_report() {
        let open = "# why\nname = \"x\"\n[[step]]\narguments = { key = \"{client}\", n = 1 }\n";
        assert_eq!(redact_scenario(open), open);
        let hidden =
            redact_scenario("name = \"x\"\n[[step]]\narguments = { api_key = \"hunter2\", n = 1 }\n");
        assert!(!hidden.contains("hunter2") && hidden.contains("(hidden)"), "{hidden}");
        assert_eq!(redact_scenario("not = = toml"), "");
    }

    #[test]
    fn what_a_server_quotes_of_our_secrets_is_hidden() {
        let mut plan = Plan::new("https://me:pw@host/mcp?key=1234567");
        plan.headers.push(("authorization".to_owned(), "Bearer hunter2".to_owned()));
        plan.bearers.push("hunter33".to_owned());
        let text = "no entry with hunter2 or hunter33 at https://me:pw@host/mcp?key=1234567 (key=1234567)";
        let example = Example {
            at_ms: 0,
            client: 0,
            revision: String::new(),
            operation: Operation::new("ping"),
            text: text.to_owned(),
        };
        let mut examples = BTreeMap::from([(ErrorKind::Status(401), Examples::default())]);
        examples.values_mut().for_each(|kept| kept.add(example.clone()));
        Secrets::of(&plan).hide_in(&mut examples);
        let shown = &examples.values().next().unwrap().iter().next().unwrap().text;
        assert_eq!(
            shown,
            "no entry with (hidden) or (hidden) at https://(hidden)@host/mcp?(hidden) ((hidden))"
        );
    }
}
