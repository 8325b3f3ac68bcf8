//! Where access tokens come from.

use std::{error::Error, sync::Arc};

use futures_util::future::BoxFuture;

/// Gives out bearer tokens. A fixed `String` or `&str` is one, too.
pub trait TokenSource: Send + Sync + 'static {
    /// The token to send. `refused` is the one that the server did not take (401): give out another one, or an error. A
    /// token is kept until it is refused; one that runs out soon is the source's to renew at that time.
    fn token<'a>(
        &'a self,
        refused: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, Box<dyn Error + Send + Sync>>>;
}

/// What a fixed token says when it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server refused the token, and there is no other")]
struct Refused;

// === impl TokenSource ===

impl TokenSource for String {
    fn token<'a>(
        &'a self,
        refused: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, Box<dyn Error + Send + Sync>>> {
        let token = if refused.is_some() { Err(Refused.into()) } else { Ok(self.clone()) };
        Box::pin(std::future::ready(token))
    }
}

impl TokenSource for &'static str {
    fn token<'a>(
        &'a self,
        refused: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, Box<dyn Error + Send + Sync>>> {
        let token = if refused.is_some() { Err(Refused.into()) } else { Ok((*self).to_owned()) };
        Box::pin(std::future::ready(token))
    }
}

impl<T: TokenSource> TokenSource for Arc<T> {
    fn token<'a>(
        &'a self,
        refused: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, Box<dyn Error + Send + Sync>>> {
        (**self).token(refused)
    }
}
