//! Parameters become what the driver takes, and a session is opened with it.

use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{
    ChannelBinding, LoadBalanceHosts, SslMode, SslNegotiation, TargetSessionAttrs,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::files::{self, Login};
use super::parameters::{Parameters, wrong};
use super::session::Session;
use super::tls;
use crate::error::Error;

/// Where a socket of the server is by default: Debian's place, and that of PostgreSQL itself.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
const CONNECT_SECONDS: u64 = 10;
/// To learn whether a password is asked for, all hosts included.
const OPEN: Duration = Duration::from_secs(10);

/// All that is needed to open sessions, as often as is wanted.
#[derive(Clone)]
pub struct Settings {
    pub config: Config,
    pub tls: MakeRustlsConnect,
    /// The same without a password.
    open: Config,
}

impl Settings {
    /// Of another user of the same database.
    pub fn of_user(&self, user: &str, password: &str) -> Self {
        let mut settings = self.clone();
        settings.config.user(user).password(password);
        settings.open.user(user);
        settings
    }

    /// Whether the server has asked for a password. One that lets the user in without (trust, peer, a certificate) takes any. No password is
    /// sent, so none counts as wrong.
    pub async fn asks_for_password(&self) -> Result<bool, Failure> {
        let connected = self.open.connect(self.tls.clone());
        match tokio::time::timeout(OPEN, connected).await {
            Ok(Ok(_)) => Ok(false),
            Ok(Err(error)) if is_about_missing_password(&error) => Ok(true),
            Ok(Err(error)) => Err(Failure::of_connect(&error)),
            Err(_) => Err(Failure::NoServer("it does not answer".to_owned())),
        }
    }

    pub async fn connect(&self) -> Result<Session, Error> {
        let (client, connection) =
            self.config
                .connect(self.tls.clone())
                .await
                .map_err(|source| Error::Connect {
                    place: self.place(),
                    source,
                })?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the session has ended");
            }
        });
        Ok(Session {
            client,
            driver,
            tls: self.tls.clone(),
        })
    }

    /// The server in words, for messages.
    pub fn place(&self) -> String {
        let hosts = self.config.get_hosts();
        let ports = self.config.get_ports();
        let port = |at: usize| {
            ports
                .get(at)
                .or_else(|| ports.first())
                .copied()
                .unwrap_or(5432)
        };
        let places = hosts.iter().enumerate().map(|(at, host)| match host {
            tokio_postgres::config::Host::Tcp(name) => format!("{name}:{}", port(at)),
            tokio_postgres::config::Host::Unix(folder) => {
                format!("{}/.s.PGSQL.{}", folder.display(), port(at))
            }
        });
        places.collect::<Vec<_>>().join(", ")
    }
}

/// The driver has no kind for it.
fn is_about_missing_password(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.to_string() == "password missing")
}

pub fn make(parameters: Parameters) -> Result<Settings, Error> {
    parameters.refuse_unsupported()?;
    let mut open = Config::new();
    set_place(&mut open, &parameters)?;
    let password = set_login(&mut open, &parameters);
    set_times(&mut open, &parameters)?;
    set_choices(&mut open, &parameters)?;
    let mut config = open.clone();
    if let Some(password) = password {
        config.password(password);
    }
    let tls = tls::connector(&parameters)?;
    Ok(Settings { config, tls, open })
}

// ---- Where ----------------------------------------------------------------------------------------

fn set_place(config: &mut Config, parameters: &Parameters) -> Result<(), Error> {
    let addresses = list(parameters.get("hostaddr"));
    let hosts = list(parameters.get("host"));
    // An address without a name is its own name, which certificates are compared with.
    let hosts = if hosts.is_empty() {
        addresses.clone()
    } else {
        hosts
    };
    if hosts.is_empty() {
        config.host(default_host());
    }
    for host in hosts {
        config.host(if host.is_empty() {
            default_host()
        } else {
            host
        });
    }
    for address in addresses {
        config.hostaddr(IpAddr::from_str(address).map_err(|_| wrong("hostaddr", address))?);
    }
    for port in list(parameters.get("port")) {
        config.port(if port.is_empty() {
            5432
        } else {
            number("port", port)?
        });
    }
    Ok(())
}

fn list(value: Option<&str>) -> Vec<&str> {
    value
        .map(|value| value.split(',').map(str::trim).collect())
        .unwrap_or_default()
}

fn default_host() -> &'static str {
    SOCKET_FOLDERS
        .into_iter()
        .find(|folder| Path::new(folder).is_dir())
        .unwrap_or("localhost")
}

// ---- Who ------------------------------------------------------------------------------------------

/// Returns the password.
fn set_login(config: &mut Config, parameters: &Parameters) -> Option<String> {
    let user = parameters
        .get("user")
        .map(str::to_owned)
        .or_else(|| whoami::username().ok())
        .unwrap_or_default();
    let database = parameters.get("dbname").unwrap_or(&user).to_owned();
    let stored = || {
        let hosts = list(parameters.get("host").or(parameters.get("hostaddr")));
        let host = hosts.first().copied().unwrap_or(default_host());
        let login = Login {
            host: if SOCKET_FOLDERS.contains(&host) {
                "localhost"
            } else {
                host
            },
            port: list(parameters.get("port"))
                .first()
                .copied()
                .unwrap_or("5432"),
            database: &database,
            user: &user,
        };
        files::password(parameters.get("passfile"), &login)
    };
    let password = parameters
        .get("password")
        .map(str::to_owned)
        .or_else(stored);
    let name = parameters
        .get("application_name")
        .or(parameters.get("fallback_application_name"));
    config.application_name(name.unwrap_or("turnstile"));
    if let Some(options) = parameters.get("options") {
        config.options(options);
    }
    config.user(user).dbname(database);
    password
}

// ---- How long -------------------------------------------------------------------------------------

fn set_times(config: &mut Config, parameters: &Parameters) -> Result<(), Error> {
    // As in libpq: 0 and less stand for no limit.
    match seconds(parameters, "connect_timeout")? {
        Some(limit) if limit <= 0 => {}
        Some(limit) => _ = config.connect_timeout(duration(limit.max(2))),
        None => _ = config.connect_timeout(Duration::from_secs(CONNECT_SECONDS)),
    }
    if let Some(switch) = seconds(parameters, "keepalives")? {
        config.keepalives(switch != 0);
    }
    if let Some(idle) = seconds(parameters, "keepalives_idle")?.filter(|idle| *idle > 0) {
        config.keepalives_idle(duration(idle));
    }
    if let Some(interval) =
        seconds(parameters, "keepalives_interval")?.filter(|interval| *interval > 0)
    {
        config.keepalives_interval(duration(interval));
    }
    if let Some(count) = parameters.get("keepalives_count") {
        config.keepalives_retries(number("keepalives_count", count)?);
    }
    if let Some(limit) = parameters.get("tcp_user_timeout") {
        config.tcp_user_timeout(Duration::from_millis(number("tcp_user_timeout", limit)?));
    }
    Ok(())
}

fn seconds(parameters: &Parameters, name: &str) -> Result<Option<i64>, Error> {
    parameters
        .get(name)
        .map(|value| number(name, value))
        .transpose()
}

fn duration(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}

// ---- Which ----------------------------------------------------------------------------------------

fn set_choices(config: &mut Config, parameters: &Parameters) -> Result<(), Error> {
    if let Some(value) = parameters.get("target_session_attrs") {
        config.target_session_attrs(match value {
            "any" => TargetSessionAttrs::Any,
            "read-write" | "primary" => TargetSessionAttrs::ReadWrite,
            "read-only" | "standby" => TargetSessionAttrs::ReadOnly,
            _ => return Err(wrong("target_session_attrs", value)),
        });
    }
    if let Some(value) = parameters.get("load_balance_hosts") {
        config.load_balance_hosts(match value {
            "disable" => LoadBalanceHosts::Disable,
            "random" => LoadBalanceHosts::Random,
            _ => return Err(wrong("load_balance_hosts", value)),
        });
    }
    if let Some(value) = parameters.get("channel_binding") {
        config.channel_binding(match value {
            "disable" => ChannelBinding::Disable,
            "prefer" => ChannelBinding::Prefer,
            "require" => ChannelBinding::Require,
            _ => return Err(wrong("channel_binding", value)),
        });
    }
    if let Some(value) = parameters.get("sslnegotiation") {
        config.ssl_negotiation(match value {
            "postgres" => SslNegotiation::Postgres,
            "direct" => SslNegotiation::Direct,
            _ => return Err(wrong("sslnegotiation", value)),
        });
    }
    config.ssl_mode(match tls::Mode::of(parameters)? {
        tls::Mode::Disable => SslMode::Disable,
        tls::Mode::Prefer => SslMode::Prefer,
        tls::Mode::Require | tls::Mode::VerifyCa | tls::Mode::VerifyFull => SslMode::Require,
    });
    Ok(())
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, Error> {
    value.parse().map_err(|_| wrong(name, value))
}
