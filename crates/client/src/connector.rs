//! How to get to the server: the configuration, and what encrypts.

use crate::error::{Result, described};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::poll_fn;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, NoTls, Socket};

/// A sleeper says nothing for minutes; who does not answer by then is noticed all the same.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVES_RETRIES: u32 = 3;
const UNANSWERED: Duration = Duration::from_secs(45);
const DRIVERS_OWN_IDLE: Duration = Duration::from_secs(2 * 60 * 60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections, each time a new one is needed.
#[derive(Clone)]
pub struct Connector {
    connect: Arc<dyn Fn() -> BoxFuture<'static, Connected> + Send + Sync>,
    cancel: Arc<dyn Fn(CancelToken) -> BoxFuture<'static, ()> + Send + Sync>,
}

type Connected = std::result::Result<Session, tokio_postgres::Error>;

/// A connection. It hangs up when it is dropped, also in the middle of a call.
pub(crate) struct Session {
    client: Client,
    driver: AbortHandle,
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connector {
    /// Without encryption, from a URL (`postgresql://…`) or `key=value` words, as libpq knows them. Of several hosts it finds the
    /// primary if that says `target_session_attrs=read-write`.
    pub fn parse(url: &str) -> Result<Self> {
        Ok(Self::new(Config::from_str(url)?, NoTls))
    }

    /// With whatever encrypts, such as `tokio_postgres_rustls::MakeRustlsConnect`.
    pub fn new<T>(mut config: Config, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        notice_lost_peers(&mut config);
        let for_cancels = tls.clone();
        Self {
            connect: Arc::new(move || Box::pin(connect(config.clone(), tls.clone()))),
            cancel: Arc::new(move |token| {
                let tls = for_cancels.clone();
                Box::pin(async move {
                    if let Err(error) = token.cancel_query(tls).await {
                        tracing::debug!(%error, "a call could not be cancelled");
                    }
                })
            }),
        }
    }

    pub(crate) async fn connect(&self) -> Connected {
        (self.connect)().await
    }

    /// Asks the server to end the call that runs there.
    pub(crate) async fn cancel(&self, token: CancelToken) {
        (self.cancel)(token).await;
    }
}

/// What the caller has set stays as it is.
fn notice_lost_peers(config: &mut Config) {
    if config.get_keepalives_idle() == DRIVERS_OWN_IDLE {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVES_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVES_RETRIES);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNANSWERED);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("turnstile");
    }
}

async fn connect<T>(config: Config, tls: T) -> Connected
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection) = config.connect(tls).await?;
    let mut messages = poll_fn(move |context| connection.poll_message(context));
    let driver = tokio::spawn(async move {
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notice(notice)) => pass_on(&notice),
                Ok(_) => {}
                Err(error) => {
                    let error = described(&error);
                    tracing::warn!(error, "a connection has ended");
                    return;
                }
            }
        }
    });
    let driver = driver.abort_handle();
    Ok(Session { client, driver })
}

fn pass_on(notice: &DbError) {
    match notice.parsed_severity() {
        Some(Severity::Warning | Severity::Notice) => {
            tracing::warn!(notice = notice.message(), "the server says");
        }
        _ => tracing::info!(notice = notice.message(), "the server says"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_sets_about_lost_peers_stays() {
        let mut config = Config::from_str("host=a keepalives_idle=7 connect_timeout=3").unwrap();
        notice_lost_peers(&mut config);
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(config.get_keepalives_interval(), Some(KEEPALIVES_INTERVAL));
    }
}
