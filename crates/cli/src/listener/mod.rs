//! What those that listen for HTTP have in common: connections and their limits, bodies, and answers that are errors.

mod bearer;
mod body;
mod certificate;
mod connections;
mod patient;
mod problem;
mod refusal;

pub use bearer::bearer;
pub use body::{Content, read};
pub use certificate::acceptor;
pub use connections::{Limits, serve};
pub use problem::{Problem, not_found, wrong_method};
