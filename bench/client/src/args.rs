//! What is asked for on the command line.

use trunkline_protocol::Revision;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Ours,
    Hand,
}

pub(crate) enum Over {
    Http(String),
    /// The command of the server at the other end.
    Pipe(Vec<String>),
}

pub(crate) struct Asked {
    pub(crate) how: How,
    pub(crate) over: Over,
    pub(crate) revision: Revision,
    pub(crate) calls: u32,
    pub(crate) in_flight: usize,
}

/// `None` for what is not asked for in the way that the usage says.
pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Option<Asked> {
    let how = match words.next()?.as_str() {
        "ours" => How::Ours,
        "hand" => How::Hand,
        _ => return None,
    };
    let over = words.next()?;
    let url = if over == "http" { words.next()? } else { String::new() };
    let revision = Revision::from_name(&words.next()?)?;
    let calls = words.next()?.parse().ok()?;
    let in_flight = words.next()?.parse().ok().filter(|lanes| *lanes > 0)?;
    let over = match over.as_str() {
        "http" => Over::Http(url),
        "stdio" if words.next()? == "--" => Over::Pipe(words.by_ref().collect()),
        _ => return None,
    };
    words.next().is_none().then_some(Asked { how, over, revision, calls, in_flight })
}
