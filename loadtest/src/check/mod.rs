//! What is checked of what comes back. Decided without I/O.
//!
//! - [`unique`]: values that no other request has, so that an answer tells whose it is
//! - [`counter`]: a counter that only one client counts
//! - [`ring`]: events that their own client caused, in the order in which they have to come
//! - [`result`]: what a tool returned
//! - [`template`]: arguments and expectations of a scenario

pub(crate) mod counter;
pub(crate) mod result;
pub(crate) mod ring;
pub(crate) mod template;
pub(crate) mod unique;
