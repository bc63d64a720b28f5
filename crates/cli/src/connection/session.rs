//! A session, for as long as one command needs it.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;

/// After so long without an answer the session counts as lost.
const ANSWER: Duration = Duration::from_secs(30);
const CANCEL: Duration = Duration::from_secs(2);
const CLOSE: Duration = Duration::from_secs(1);

pub struct Session {
    pub client: Client,
    /// The task that moves its bytes.
    pub driver: JoinHandle<()>,
    pub tls: MakeRustlsConnect,
}

impl Session {
    /// What a statement of this session gives. One that takes too long is cancelled, so that it does not go on in a server that only seemed
    /// lost.
    pub async fn answered<T>(
        &self,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(ANSWER, statement).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let cancel = self.client.cancel_token();
                _ = tokio::time::timeout(CANCEL, cancel.cancel_query(self.tls.clone())).await;
                Err(Error::no_answer(ANSWER))
            }
        }
    }

    /// Ends the session as the protocol wants it, so that nobody logs a lost client.
    pub async fn close(self) {
        drop(self.client);
        // A server that is lost does not keep the program.
        _ = tokio::time::timeout(CLOSE, self.driver).await;
    }
}
