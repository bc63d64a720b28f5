//! What those that listen for HTTP have in common: connections and their limits, parameters, bodies, and
//! answers that are errors.

mod bearer;
mod body;
mod certificate;
mod connections;
mod parameters;
mod patient;
mod problem;
mod refusal;

pub use bearer::bearer;
pub use body::{Content, read};
pub use certificate::acceptor;
pub use connections::{Limits, serve};
pub use parameters::parameters;
pub use problem::{Problem, not_found, wrong_method};
