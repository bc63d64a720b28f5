//! The levers: each calls one function of the schema, and leads back to the page that shows what came of it.

pub mod batch;
pub mod done;
pub mod gate;
pub mod job;
mod limits;
pub mod many;
pub mod session;
