//! State between calls: the session's values where there is a session, and a handle's where there is none.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use trunkline_store::{Key, Kind, Record, SessionStore, StoreError};

use super::outcome::HandlerError;
use crate::{principal::Principal, record::field};

/// Values that outlive a call and are the same on every replica. Each operation is atomic.
pub struct State {
    store: Arc<dyn SessionStore>,
    key: Key,
    handle: Option<String>,
}

// === impl State ===

impl State {
    /// The values of a session.
    pub(crate) fn of_session(store: Arc<dyn SessionStore>, session: &str) -> Self {
        Self { store, key: Key::new(Kind::Session, session), handle: None }
    }

    /// New values under a new handle that belongs to `principal`.
    pub(crate) async fn create(
        store: Arc<dyn SessionStore>,
        principal: &Principal,
        lifetime: Duration,
    ) -> Result<Self, HandlerError> {
        let handle = URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>());
        let key = Key::new(Kind::Handle, &handle);
        let record = Record::default().with(field::PRINCIPAL, principal.as_str().to_owned());
        store.create(&key, record, lifetime).await.map_err(failed)?;
        Ok(Self { store, key, handle: Some(handle) })
    }

    /// The values under a handle, if it is alive and belongs to `principal`. Renews its expiry.
    pub(crate) async fn of_handle(
        store: Arc<dyn SessionStore>,
        principal: &Principal,
        handle: &str,
        lifetime: Duration,
    ) -> Result<Self, HandlerError> {
        let key = Key::new(Kind::Handle, handle);
        let owner = store.load(&key).await.map_err(failed)?;
        let owned = owner.is_some_and(|record| record.text(field::PRINCIPAL) == Some(principal.as_str()));
        if !owned || !store.touch(&key, lifetime).await.map_err(failed)? {
            return Err(gone());
        }
        Ok(Self { store, key, handle: Some(handle.to_owned()) })
    }

    /// The handle to name these values by in a later call; `None` where the session does that.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// A value.
    ///
    /// # Errors
    /// If the store cannot be reached, the state is gone, or the value is not a `T`.
    pub async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, HandlerError> {
        let record = self.store.load(&self.key).await.map_err(failed)?.ok_or_else(gone)?;
        match record.fields.get(field_name(name).as_str()) {
            Some(value) => Ok(Some(serde_json::from_slice(value)?)),
            None => Ok(None),
        }
    }

    /// Sets a value.
    ///
    /// # Errors
    /// If the store cannot be reached, the state is gone, or the value is over its bound.
    pub async fn set(&self, name: &str, value: &impl Serialize) -> Result<(), HandlerError> {
        let value = Bytes::from(serde_json::to_vec(value)?);
        let alive = self.store.set(&self.key, &field_name(name), value).await.map_err(failed)?;
        if alive { Ok(()) } else { Err(gone()) }
    }

    /// Removes a value, and says whether it was there.
    ///
    /// # Errors
    /// If the store cannot be reached or the state is gone.
    pub async fn remove(&self, name: &str) -> Result<bool, HandlerError> {
        self.store.remove(&self.key, &field_name(name)).await.map_err(failed)?.ok_or_else(gone)
    }

    /// Adds to an integer, an absent one counting as 0, and returns the sum.
    ///
    /// # Errors
    /// If the store cannot be reached, the state is gone, or the value is not an integer.
    pub async fn increment(&self, name: &str, by: i64) -> Result<i64, HandlerError> {
        self.store.increment(&self.key, &field_name(name), by).await.map_err(failed)?.ok_or_else(gone)
    }

    /// Replaces `expected` by `new`, `None` being absence, and says whether `expected` was there.
    ///
    /// # Errors
    /// If the store cannot be reached, the state is gone, or the value is over its bound.
    pub async fn compare_and_set<T: Serialize>(
        &self,
        name: &str,
        expected: Option<&T>,
        new: Option<&T>,
    ) -> Result<bool, HandlerError> {
        let json = |value: Option<&T>| value.map(serde_json::to_vec).transpose();
        let (expected, new) = (json(expected)?.map(Bytes::from), json(new)?.map(Bytes::from));
        let swapped = self.store.compare_and_set(&self.key, &field_name(name), expected, new).await;
        swapped.map_err(failed)?.ok_or_else(gone)
    }
}

/// Values of the application never meet the session's own fields.
fn field_name(name: &str) -> String {
    format!("{}{name}", field::VALUE)
}

/// What the caller can mend is told; that the store is away is not the model's to read.
fn failed(error: StoreError) -> HandlerError {
    match error {
        StoreError::TooLarge { what, size, limit } => {
            HandlerError::new(format!("{what} of {size} is over the limit of {limit}"))
        }
        StoreError::NotAnInteger { .. } => {
            HandlerError::new("the value is not an integer that this can be added to")
        }
        StoreError::Full { .. } | StoreError::Unavailable { .. } => error.into(),
    }
}

fn gone() -> HandlerError {
    HandlerError::new("the state is unknown or has expired")
}
