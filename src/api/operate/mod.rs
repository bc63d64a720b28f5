//! Verbs for operators.

pub mod cancel;
pub mod check_permission;
pub mod filter;
pub mod reroute;
pub mod retry;
