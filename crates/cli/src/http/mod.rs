//! HTTP out: what requests to endpoints are made of, without the jobs that they are for.
//!
//! `address` says which addresses are never asked, `resolve` and `client` see to it that no connection goes anywhere else. `template`
//! makes the URL, `headers` and `signature` the headers, `payload` the body; `secrets` finds what is signed with, in files that are
//! `private`. `retry_after` reads an
//! answer, and `token` proves calls back.

pub mod address;
pub mod client;
pub mod headers;
pub mod payload;
pub mod private;
pub mod resolve;
pub mod retry_after;
pub mod secrets;
pub mod signature;
pub mod template;
#[cfg(test)]
mod tests;
pub mod token;
