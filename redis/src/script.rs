//! Scripts, which Redis knows by their hash once it has seen them.

use redis::Cmd;

/// A Lua script.
#[derive(Debug)]
pub struct Script {
    code: &'static str,
    hash: String,
}

// === impl Script ===

impl Script {
    /// A script of this source.
    #[must_use]
    pub fn new(code: &'static str) -> Self {
        Self { code, hash: redis::Script::new(code).get_hash().to_owned() }
    }

    /// Calls it by its hash.
    pub(crate) fn by_hash(&self, keys: &[&[u8]], args: &[&[u8]]) -> Cmd {
        call("EVALSHA", self.hash.as_bytes(), keys, args)
    }

    /// Calls it by its source, after which Redis knows its hash.
    pub(crate) fn by_source(&self, keys: &[&[u8]], args: &[&[u8]]) -> Cmd {
        call("EVAL", self.code.as_bytes(), keys, args)
    }
}

fn call(name: &str, script: &[u8], keys: &[&[u8]], args: &[&[u8]]) -> Cmd {
    let bytes: usize = keys.iter().chain(args).map(|arg| arg.len()).sum();
    let mut cmd = Cmd::with_capacity(3 + keys.len() + args.len(), script.len() + bytes + 16);
    cmd.arg(name).arg(script).arg(keys.len());
    for arg in keys.iter().chain(args) {
        cmd.arg(*arg);
    }
    cmd
}
