//! Who a request is from: the login of this program, a role that a trusted proxy names, or a login of the viewer's own (HTTP Basic).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::SystemRandom;
use tokio::sync::Semaphore;

use super::identity::{Access, Identity};
use crate::connection::{Failure, Pool, Settings};
use crate::error::Error;
use crate::listener::Problem;
use crate::serve::shares::Shares;

/// Of each login; of the program's own, in which roles that a proxy names have half at most. Changes of many jobs take two of them.
const CONNECTIONS: usize = 4;
const OWN_CONNECTIONS: usize = 6;
const STATEMENT: Duration = Duration::from_secs(2);
/// Connections of a login that has asked for nothing so long are closed.
const IDLE: Duration = Duration::from_secs(60);
/// After so long the server is asked again whether the password is right.
const BELIEVED: Duration = Duration::from_secs(600);
const MOST_LOGINS: usize = 64;
/// Passwords that are tried at the same time, and how long an answer to a wrong one takes.
const TRIED_AT_ONCE: usize = 4;
const WRONG: Duration = Duration::from_secs(1);
const PROBE: &str = "SELECT 1";

/// How viewers are told apart.
pub enum Mode {
    /// They are not: all have the login of this program.
    Own,
    /// By the header of a trusted proxy, which names a role.
    Header(HeaderName),
    /// By user and password of the database.
    Basic,
}

pub struct Logins {
    mode: Mode,
    settings: Settings,
    own: Pool,
    /// Of the roles that a proxy names, which have these connections together.
    shares: Arc<Shares>,
    key: hmac::Key,
    tries: Semaphore,
    known: Mutex<HashMap<Identity, Known>>,
}

struct Known {
    access: Access,
    since: Instant,
    used: Instant,
}

impl Logins {
    pub fn new(mode: Mode, settings: Settings) -> Result<Self, Error> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| Error::Lost("the system gives no random numbers".to_owned()))?;
        Ok(Self {
            mode,
            own: pool(settings.clone(), OWN_CONNECTIONS)?,
            shares: Arc::new(Shares::of_connections(OWN_CONNECTIONS)),
            settings,
            key,
            tries: Semaphore::new(TRIED_AT_ONCE),
            known: Mutex::default(),
        })
    }

    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// The login of this program.
    pub fn own(&self) -> Access {
        Access::new(Identity::Own, self.own.clone())
    }

    pub async fn of(&self, headers: &HeaderMap) -> Result<Access, Problem> {
        match &self.mode {
            Mode::Own => Ok(self.own()),
            Mode::Header(name) => self.of_proxy(headers, name),
            Mode::Basic => self.of_password(headers).await,
        }
    }

    /// The header must be there once, or a proxy that adds it to that of its client would let the client choose.
    fn of_proxy(&self, headers: &HeaderMap, name: &HeaderName) -> Result<Access, Problem> {
        let mut values = headers.get_all(name).iter();
        let role = match (values.next(), values.next()) {
            (Some(value), None) => std::str::from_utf8(value.as_bytes()).ok(),
            _ => None,
        };
        // The server takes "none" for no role at all.
        let role = role.filter(|role| !role.is_empty() && *role != "none" && !role.contains('\0'));
        let role = role.ok_or_else(|| {
            Problem::unauthorized("The proxy in front of this page has not said who you are.")
        })?;
        Ok(Access::of_role(
            role,
            self.own.clone(),
            Arc::clone(&self.shares),
        ))
    }

    async fn of_password(&self, headers: &HeaderMap) -> Result<Access, Problem> {
        let (user, password) = headers
            .get(AUTHORIZATION)
            .and_then(|value| credentials(value.as_bytes()))
            .ok_or_else(|| Problem::unauthorized("Log in as a role of the database."))?;
        let identity = self.identity(&user, &password);
        if let Some(access) = self.known(&identity) {
            return Ok(access);
        }
        self.tried(identity, &user, &password).await
    }

    fn identity(&self, user: &str, password: &str) -> Identity {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(user.as_bytes());
        context.update(&[0]);
        context.update(password.as_bytes());
        let mut secret = [0; 32];
        for (byte, tagged) in secret.iter_mut().zip(context.sign().as_ref()) {
            *byte = *tagged;
        }
        Identity::Login {
            user: user.into(),
            secret,
        }
    }

    fn known(&self, identity: &Identity) -> Option<Access> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, login| login.used.elapsed() < IDLE && login.since.elapsed() < BELIEVED);
        let login = known.get_mut(identity)?;
        login.used = Instant::now();
        Some(login.access.clone())
    }

    /// It has to be tried again.
    pub fn forget(&self, identity: &Identity) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(identity);
    }

    /// Whether the server has taken its password not long ago. What goes on for long asks again.
    pub fn is_believed(&self, access: &Access) -> bool {
        match access.identity() {
            Identity::Login { .. } => self.known(access.identity()).is_some(),
            Identity::Own | Identity::Role(_) => true,
        }
    }

    /// A server that lets this program in without a password would let in all who name a role.
    async fn must_ask(&self, settings: &Settings, user: &str) -> Result<(), Problem> {
        match settings.asks_for_password().await {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::error!(
                    user,
                    "the server asks for no password: pg_hba.conf must have it ask this program for one (scram-sha-256)"
                );
                tokio::time::sleep(WRONG).await;
                Err(Problem::new(
                    StatusCode::FORBIDDEN,
                    "The database asks for no password of this user, so nobody can log in as it here.",
                ))
            }
            Err(Failure::Login(error)) => Err(refused(user, &error).await),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The server decides. Few are tried at a time, and who is wrong waits, so that guessing takes long.
    async fn tried(
        &self,
        identity: Identity,
        user: &str,
        password: &str,
    ) -> Result<Access, Problem> {
        let busy = || Problem::unavailable("Too many log in at once.").repeatable();
        let _turn = tokio::time::timeout(STATEMENT, self.tries.acquire())
            .await
            .map_err(|_| busy())?;
        let settings = self.settings.of_user(user, password);
        self.must_ask(&settings, user).await?;
        let database =
            pool(settings, CONNECTIONS).map_err(|error| Problem::bad_request(error.to_string()))?;
        match database.rows(None, PROBE, &[]).await {
            Ok(_) => {}
            Err(Failure::Login(error)) => return Err(refused(user, &error).await),
            Err(failure) => return Err(failure.into()),
        }
        let access = Access::new(identity.clone(), database);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_LOGINS {
            return Err(busy());
        }
        let now = Instant::now();
        let login = Known {
            access: access.clone(),
            since: now,
            used: now,
        };
        known.insert(identity, login);
        Ok(access)
    }
}

/// Who is wrong waits.
async fn refused(user: &str, error: &str) -> Problem {
    tracing::warn!(user, error, "a login was refused");
    tokio::time::sleep(WRONG).await;
    Problem::unauthorized("The database does not take this user and password.")
}

fn pool(settings: Settings, connections: usize) -> Result<Pool, Error> {
    Ok(Pool::new(settings, connections)?.with_statement_timeout(STATEMENT))
}

/// Of `Basic`, in UTF-8 (RFC 7617).
fn credentials(value: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(value).ok()?;
    let (scheme, coded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(coded.trim()).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let is_text = !user.is_empty() && !decoded.contains('\0');
    is_text.then(|| (user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_a_user_and_a_password() {
        let coded = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let read = |text: &str| credentials(coded(text).as_bytes());
        assert_eq!(read("ann:a:b").unwrap(), ("ann".into(), "a:b".into()));
        assert_eq!(read("é:").unwrap(), ("é".into(), String::new()));
        for wrong in ["", ":x", "ann", "a\0b:c"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
        for wrong in ["", "Basic", "Basic !", "Bearer YTpi", "Basic /w=="] {
            assert_eq!(credentials(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(
            credentials(b"bAsIc YTpi").unwrap(),
            ("a".into(), "b".into())
        );
    }
}
