//! A connection that comes back: it is made when it is first needed, and anew when it was lost.

use crate::backoff::Backoff;
use crate::connector::{Connector, Session};
use crate::error::{Remedy, Result, described, remedy};
use std::sync::Arc;
use tokio::sync::Mutex;

pub(crate) struct Link {
    name: &'static str,
    connector: Connector,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    client: Option<Arc<Session>>,
    backoff: Backoff,
    was_connected: bool,
}

impl Link {
    pub(crate) fn new(name: &'static str, connector: Connector) -> Self {
        Self {
            name,
            connector,
            state: Mutex::default(),
        }
    }

    /// A connection that was not lost yet, as far as is known. Waits for the server for as long as it takes; it is an error
    /// only that the server refuses the very first connection.
    pub(crate) async fn client(&self) -> Result<Arc<Session>> {
        let mut state = self.state.lock().await;
        loop {
            if let Some(client) = state.client.as_ref().filter(|client| !client.is_closed()) {
                return Ok(Arc::clone(client));
            }
            self.connect(&mut state).await?;
        }
    }

    async fn connect(&self, state: &mut State) -> Result<()> {
        if state.client.take().is_some() {
            tracing::warn!(
                connection = self.name,
                "the connection to the server was lost"
            );
            tokio::time::sleep(state.backoff.next_pause()).await;
        }
        match self.connector.connect().await {
            Ok(client) => {
                if state.was_connected {
                    tracing::info!(connection = self.name, "connected to the server again");
                }
                state.was_connected = true;
                state.client = Some(Arc::new(client));
            }
            Err(error) if !state.was_connected && remedy(&error) == Remedy::Never => {
                return Err(error.into());
            }
            Err(error) => {
                let pause = state.backoff.next_pause();
                let error = described(&error);
                tracing::warn!(
                    connection = self.name,
                    error,
                    ?pause,
                    "cannot connect to the server"
                );
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }

    /// A call was answered, so the next loss is a new one. Who is connecting just now knows better.
    pub(crate) fn works(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.backoff.reset();
        }
    }

    /// The next call gets another connection, unless there is another already.
    pub(crate) async fn give_up(&self, lost: &Arc<Session>) {
        let mut state = self.state.lock().await;
        let is_the_same = |client: &Arc<Session>| Arc::ptr_eq(client, lost);
        if state.client.as_ref().is_some_and(is_the_same) {
            state.client = None;
            tracing::warn!(
                connection = self.name,
                "the connection to the server was lost"
            );
            tokio::time::sleep(state.backoff.next_pause()).await;
        }
    }

    /// Ends the call that runs there, if one does.
    pub(crate) async fn cancel(&self, client: &Session) {
        self.connector.cancel(client.cancel_token()).await;
    }
}
