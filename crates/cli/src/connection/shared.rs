//! A session that several tasks use at once, opened when it is first needed, and anew when it was lost.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::settings::{Session, Settings};
use crate::error::Error;

pub struct Shared {
    settings: Settings,
    session: Mutex<Option<Arc<Session>>>,
}

impl Shared {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            session: Mutex::default(),
        }
    }

    pub async fn session(&self) -> Result<Arc<Session>, Error> {
        let mut session = self.session.lock().await;
        if let Some(open) = session.as_ref().filter(|open| !open.client.is_closed()) {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(self.settings.connect().await?);
        *session = Some(Arc::clone(&opened));
        Ok(opened)
    }
}
