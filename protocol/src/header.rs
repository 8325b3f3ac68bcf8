//! Values of HTTP headers that mirror the body.
