//! The scenarios that are built in. They are files like anybody's: `trunkline-loadtest scenario NAME` prints one to begin with.

/// Their names and texts.
pub const BUILT_IN: [(&str, &str); 6] = [
    ("steady", include_str!("builtin/steady.toml")),
    ("churn", include_str!("builtin/churn.toml")),
    ("storm", include_str!("builtin/storm.toml")),
    ("listeners", include_str!("builtin/listeners.toml")),
    ("questions", include_str!("builtin/questions.toml")),
    ("mixed", include_str!("builtin/mixed.toml")),
];

/// The text of one.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
