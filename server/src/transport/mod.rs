//! Where messages come from and answers go: HTTP and stdio. A transport knows framing, and no method's meaning but where
//! the framing depends on it.

mod broadcast;
pub(crate) mod context;
pub(crate) mod http;
pub(crate) mod stdio;
