//! What all calls have.

use std::sync::Arc;

use crate::connection::Pool;
use crate::http::token::Tokens;

#[derive(Clone)]
pub struct App {
    pub database: Pool,
    pub tokens: Arc<Tokens>,
}
