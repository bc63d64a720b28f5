//! A connection that comes back: it is made when it is first needed, and anew when it was lost.

use crate::backoff::Backoff;
use crate::connector::{Connector, Session};
use crate::error::{Result, described, is_worth_waiting};
use crate::statement::Statement;
use crate::told::Told;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_postgres::Client;

/// What a connection is given up for.
pub(crate) const LOST: &str = "the connection to the server was lost";
pub(crate) const READ_ONLY: &str =
    "the server takes no writes; another connection may lead to one that does";

static IS_READ_ONLY: Statement = Statement {
    text: "SELECT pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only')::bool",
    types: &[],
};

pub(crate) struct Link {
    name: &'static str,
    connector: Connector,
    may_be_refused: bool,
    state: Mutex<State>,
    told: Told,
}

#[derive(Default)]
struct State {
    client: Option<Arc<Session>>,
    backoff: Backoff,
    was_connected: bool,
    /// The log has a loss, and not yet that it is over.
    is_missed: bool,
}

impl Link {
    /// For what the worker begins with: a server that refuses it at once will do so later, too.
    pub(crate) fn first(name: &'static str, connector: Connector) -> Self {
        Self {
            may_be_refused: true,
            ..Self::new(name, connector)
        }
    }

    /// For what may be needed first when the server has long been known.
    pub(crate) fn new(name: &'static str, connector: Connector) -> Self {
        Self {
            name,
            connector,
            may_be_refused: false,
            state: Mutex::default(),
            told: Told::default(),
        }
    }

    /// A connection that was not lost yet, as far as is known. Waits for the server for as long as it takes; it is an error
    /// only that the server refuses the very first connection, where a first one may be refused.
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
            tracing::warn!(connection = self.name, "{LOST}");
            state.is_missed = true;
            tokio::time::sleep(state.backoff.next_pause()).await;
        }
        match self.connector.connect().await {
            Ok(client) => {
                if std::mem::take(&mut state.is_missed) {
                    tracing::info!(connection = self.name, "connected to the server again");
                }
                state.was_connected = true;
                state.client = Some(Arc::new(client));
            }
            Err(error)
                if self.may_be_refused && !state.was_connected && !is_worth_waiting(&error) =>
            {
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
        self.told.forget();
        if let Ok(mut state) = self.state.try_lock() {
            state.backoff.reset();
        }
    }

    /// Logs why calls fail. Returns whether that is news.
    pub(crate) fn tell(&self, what: &str, reason: &str) -> bool {
        let is_news = self.told.is_news(reason);
        if is_news {
            tracing::warn!(connection = self.name, error = reason, "{what}");
        }
        is_news
    }

    /// The next call gets another connection, unless there is another already.
    pub(crate) async fn give_up(&self, lost: &Arc<Session>, what: &str, reason: &str) {
        let mut state = self.state.lock().await;
        let is_the_same = |client: &Arc<Session>| Arc::ptr_eq(client, lost);
        if state.client.as_ref().is_some_and(is_the_same) {
            state.client = None;
            state.is_missed |= self.tell(what, reason);
            tokio::time::sleep(state.backoff.next_pause()).await;
        }
    }

    /// Leaves its place in the server to others, until it is needed again.
    pub(crate) async fn hang_up(&self) {
        self.state.lock().await.client = None;
    }

    /// After 25006: whether it is the server that takes no writes, and not a trigger that has raised it.
    pub(crate) async fn is_read_only(&self, client: &Client) -> bool {
        let row = IS_READ_ONLY.row(client, &[]).await;
        matches!(row, Ok(Some(row)) if row.try_get(0).unwrap_or(false))
    }

    /// Ends the call that runs there, if one does.
    pub(crate) async fn cancel(&self, client: &Session) {
        self.connector.cancel(client.cancel_token()).await;
    }
}
