//! The classes of errors, which retry curves go by. docs/endpoints.md explains them.

use std::fmt::Display;

use turnstile_client::Failure;

/// The address is none that requests may go to.
pub const ADDRESS: &str = "address";
/// The kind has no endpoint, or that endpoint cannot be used as it is.
pub const ENDPOINT: &str = "endpoint";
/// The payload gives no request.
pub const PAYLOAD: &str = "payload";
pub const NETWORK: &str = "network";
pub const TIMEOUT: &str = "timeout";

/// A failure of the class, for `map_err`.
pub fn of<E: Display>(class: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::from(error).class(class)
}
