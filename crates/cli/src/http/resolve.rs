//! Names to addresses that may be connected to.
//!
//! A name is resolved once for a connection, all of its addresses are looked at, and the connection goes to one of these: no second answer
//! of a name server can lead elsewhere. One address that is refused refuses the name, since a public name with an internal address is
//! an attack or a mistake.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::dns::Name;
use tokio::sync::{OnceCell, Semaphore, oneshot};
use tower_service::Service;
use url::{Host, Url};

use super::address;

/// The system's resolver holds a thread for each name that it looks up.
const AT_ONCE: usize = 64;
/// How long a name may take, the wait for a thread included.
const TIME_LIMIT: Duration = Duration::from_secs(10);

// ---- Errors ---------------------------------------------------------------------------------------

/// An address that nothing is sent to, and why. `Refused::behind` finds it in what the client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As the URL has it.
    pub host: String,
    pub address: IpAddr,
    pub reason: &'static str,
}

impl Refused {
    /// The refusal that an error comes from, if it comes from one.
    pub fn behind<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref() {
                return Some(refused);
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            address,
            reason,
        } = self;
        write!(formatter, "{host} is refused: {address} is {reason}")
    }
}

impl std::error::Error for Refused {}

/// Why a name gives no address.
#[derive(Debug)]
pub enum Unresolved {
    Refused(Refused),
    Unknown { host: String, source: io::Error },
    Slow { host: String, limit: Duration },
}

impl fmt::Display for Unresolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::Refused(refused) => refused.fmt(formatter),
            Unresolved::Unknown { host, source } => {
                write!(formatter, "{host} has no address: {source}")
            }
            Unresolved::Slow { host, limit } => write!(
                formatter,
                "{host} was not resolved within {} seconds",
                limit.as_secs()
            ),
        }
    }
}

impl std::error::Error for Unresolved {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Unresolved::Refused(refused) => Some(refused),
            Unresolved::Unknown { source, .. } => Some(source),
            Unresolved::Slow { .. } => None,
        }
    }
}

// ---- Addresses that are known already -------------------------------------------------------------

pub fn vet(host: &str, address: IpAddr, allow_private: bool) -> Result<(), Refused> {
    match address::refusal(address, allow_private) {
        None => Ok(()),
        Some(reason) => Err(Refused {
            host: host.to_owned(),
            address,
            reason,
        }),
    }
}

/// Refuses a URL whose host is an address that nothing is sent to. Names are looked at when they are resolved.
pub fn vet_url(url: &Url, allow_private: bool) -> Result<(), Refused> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    vet(url.host_str().unwrap_or_default(), address, allow_private)
}

// ---- The resolver ---------------------------------------------------------------------------------

/// Looks a name up, and waits for it.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// As all programs of this machine: /etc/hosts, name servers, and the numbers that `inet_aton` takes.
pub fn system() -> Lookup {
    Arc::new(|host| {
        let found = (host, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

/// What a look-up has found, for all that wait for it. An error of the system cannot be copied, its kind and its text can.
type Found = Result<Vec<IpAddr>, (io::ErrorKind, String)>;

/// The resolver of a connector, which gets vetted addresses only.
#[derive(Clone)]
pub struct Vetted {
    allow_private: bool,
    lookup: Lookup,
    limit: Duration,
    threads: Arc<Semaphore>,
    /// By name: however many connections wait for one that no server answers for, it does not take all threads.
    under_way: Arc<Mutex<HashMap<String, Weak<OnceCell<Found>>>>>,
}

impl Vetted {
    pub fn new(allow_private: bool, lookup: Lookup) -> Self {
        Self {
            allow_private,
            lookup,
            limit: TIME_LIMIT,
            threads: Arc::new(Semaphore::new(AT_ONCE)),
            under_way: Arc::default(),
        }
    }

    #[cfg(test)]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    async fn resolve(self, host: String) -> Result<std::vec::IntoIter<SocketAddr>, Unresolved> {
        let found = tokio::time::timeout(self.limit, self.look_up(host.clone())).await;
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(source)) => return Err(Unresolved::Unknown { host, source }),
            Err(_) => {
                let limit = self.limit;
                return Err(Unresolved::Slow { host, limit });
            }
        };
        if found.is_empty() {
            let source = io::ErrorKind::NotFound.into();
            return Err(Unresolved::Unknown { host, source });
        }
        for address in &found {
            vet(&host, *address, self.allow_private).map_err(Unresolved::Refused)?;
        }
        let vetted: Vec<SocketAddr> = found
            .into_iter()
            .map(|address| SocketAddr::new(address, 0))
            .collect();
        Ok(vetted.into_iter())
    }

    async fn look_up(&self, host: String) -> io::Result<Vec<IpAddr>> {
        let asked = self.asked(&host);
        let found = asked.get_or_init(|| async {
            let found = self.look_up_in_thread(host).await;
            found.map_err(|error| (error.kind(), error.to_string()))
        });
        found
            .await
            .clone()
            .map_err(|(kind, text)| io::Error::new(kind, text))
    }

    /// The look-up of that name which others wait for, or a new one. It is no cache: nothing is kept when nobody waits.
    fn asked(&self, host: &str) -> Arc<OnceCell<Found>> {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = under_way.get(host).and_then(Weak::upgrade) {
            return asked;
        }
        under_way.retain(|_, asked| asked.strong_count() > 0);
        let asked = Arc::default();
        under_way.insert(host.to_owned(), Arc::downgrade(&asked));
        asked
    }

    async fn look_up_in_thread(&self, host: String) -> io::Result<Vec<IpAddr>> {
        let turn = Arc::clone(&self.threads).acquire_owned().await;
        let turn = turn.map_err(io::Error::other)?;
        let lookup = Arc::clone(&self.lookup);
        let (tell, told) = oneshot::channel();
        // The thread goes on when nobody waits for it any more, and its turn ends with it. It is none of the runtime's, which would
        // wait for it when the program ends.
        let thread = std::thread::Builder::new().name("resolver".to_owned());
        thread.spawn(move || {
            _ = tell.send(lookup(&host));
            drop(turn);
        })?;
        told.await.map_err(io::Error::other)?
    }
}

impl Service<Name> for Vetted {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Unresolved;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.clone().resolve(name.as_str().to_owned()))
    }
}
