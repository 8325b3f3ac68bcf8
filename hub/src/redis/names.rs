//! What logs and channels are called in Redis.
//!
//! `{prefix}:log:{first}/rest:meta` and `:stream`, where `first` is the topic's part before the first `/`, in braces of its
//! own: a Cluster keeps together what has the same. Messages of a log go to `{prefix}:log:{first}/rest`, signals to
//! `{prefix}:sig:channel`. Channels are the same in every database of a server, so one other than 0 has its number in
//! their names.

use std::fmt::Write;

use crate::{Channel, Topic};

/// How names begin.
#[derive(Clone, Debug)]
pub(super) struct Names {
    logs: String,
    log_channels: String,
    signals: String,
}

/// What one log is called.
#[derive(Debug)]
pub(super) struct LogNames {
    pub(super) meta: String,
    pub(super) stream: String,
    pub(super) channel: String,
}

// === impl Names ===

impl Names {
    pub(super) fn new(prefix: &str, database: i64) -> Self {
        let channels = if database == 0 { prefix.to_owned() } else { format!("{prefix}:{database}") };
        Self {
            logs: format!("{prefix}:log:"),
            log_channels: format!("{channels}:log:"),
            signals: format!("{channels}:sig:"),
        }
    }

    pub(super) fn log(&self, topic: &Topic) -> LogNames {
        let name = log_name(&topic.0);
        LogNames {
            meta: format!("{}{name}:meta", self.logs),
            stream: format!("{}{name}:stream", self.logs),
            channel: format!("{}{name}", self.log_channels),
        }
    }

    pub(super) fn signal(&self, channel: &Channel) -> String {
        format!("{}{}", self.signals, channel.0)
    }
}

/// `{first}/rest`. No two topics have the same, and the braces hold exactly what is before the first `/`: a brace in there would
/// end them early, and with nothing in them a Cluster looks at the whole name.
fn log_name(topic: &str) -> String {
    let (first, rest) = topic.split_at(topic.find('/').unwrap_or(topic.len()));
    let mut name = String::with_capacity(topic.len() + 8);
    name.push('{');
    for c in first.chars() {
        match c {
            '}' | '%' => {
                let _ = write!(name, "%{:02X}", u32::from(c));
            }
            _ => name.push(c),
        }
    }
    if first.is_empty() {
        name.push('%');
    }
    name.push('}');
    name.push_str(rest);
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_topic_has_the_braces_around_its_first_part() {
        let names = Names::new("trunkline", 0);
        let log = names.log(&Topic("abc/stream/1".into()));
        assert_eq!(log.meta, "trunkline:log:{abc}/stream/1:meta");
        assert_eq!(log.stream, "trunkline:log:{abc}/stream/1:stream");
        assert_eq!(log.channel, "trunkline:log:{abc}/stream/1");
        assert_eq!(names.signal(&Channel("inbox".into())), "trunkline:sig:inbox");
        let other = Names::new("trunkline", 3);
        assert_eq!(other.log(&Topic("abc".into())).meta, "trunkline:log:{abc}:meta");
        assert_eq!(other.log(&Topic("abc".into())).channel, "trunkline:3:log:{abc}");
        assert_eq!(other.signal(&Channel("inbox".into())), "trunkline:3:sig:inbox");
    }

    #[test]
    fn no_two_names_are_the_same() {
        let parts = ["", "a", "{", "}", "/", "%", ":meta", ":stream", "%7D", "{a}", "}/"];
        let names = Names::new("p", 0);
        let (mut topics, mut keys, mut channels) = (HashSet::new(), HashSet::new(), HashSet::new());
        for a in parts {
            for b in parts {
                for c in parts {
                    topics.insert(format!("{a}{b}{c}"));
                }
            }
        }
        for topic in &topics {
            let log = names.log(&Topic(topic.as_str().into()));
            assert!(keys.insert(log.meta) && keys.insert(log.stream), "{topic}");
            assert!(channels.insert(log.channel), "{topic}");
        }
    }

    #[test]
    fn logs_with_one_first_part_lie_together() {
        let tag = |topic: &str| {
            let key = Names::new("p", 0).log(&Topic(topic.into())).meta;
            let open = key.find('{').unwrap();
            let close = open + key[open..].find('}').unwrap();
            key[open + 1..close].to_owned()
        };
        for (first, expected) in [("abc", "abc"), ("", "%"), ("}", "%7D"), ("{x}", "{x%7D"), ("{", "{")] {
            for topic in [first.to_owned(), format!("{first}/"), format!("{first}/a{{b}}/c")] {
                assert_eq!(tag(&topic), expected, "{topic}");
            }
        }
    }
}
