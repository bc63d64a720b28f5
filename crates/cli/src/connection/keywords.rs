//! The keywords of libpq's connection strings, with the variables that give their defaults.

/// What a keyword is to this program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Used,
    /// Without it the connection is no less secure, so that a string for libpq goes on working.
    Ignored,
    /// Ignoring it would weaken what the user asked for.
    Refused,
}

pub struct Keyword {
    pub name: &'static str,
    pub variable: Option<&'static str>,
    pub usage: Use,
}

const fn used(name: &'static str, variable: Option<&'static str>) -> Keyword {
    Keyword {
        name,
        variable,
        usage: Use::Used,
    }
}

const fn ignored(name: &'static str) -> Keyword {
    Keyword {
        name,
        variable: None,
        usage: Use::Ignored,
    }
}

const fn refused(name: &'static str, variable: Option<&'static str>) -> Keyword {
    Keyword {
        name,
        variable,
        usage: Use::Refused,
    }
}

pub const KEYWORDS: &[Keyword] = &[
    used("service", Some("PGSERVICE")),
    used("host", Some("PGHOST")),
    used("hostaddr", Some("PGHOSTADDR")),
    used("port", Some("PGPORT")),
    used("dbname", Some("PGDATABASE")),
    used("user", Some("PGUSER")),
    used("password", Some("PGPASSWORD")),
    used("passfile", Some("PGPASSFILE")),
    used("application_name", Some("PGAPPNAME")),
    used("fallback_application_name", None),
    used("options", Some("PGOPTIONS")),
    used("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    used("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    used("load_balance_hosts", Some("PGLOADBALANCEHOSTS")),
    used("channel_binding", Some("PGCHANNELBINDING")),
    used("keepalives", None),
    used("keepalives_idle", None),
    used("keepalives_interval", None),
    used("keepalives_count", None),
    used("tcp_user_timeout", None),
    used("sslmode", Some("PGSSLMODE")),
    used("sslrootcert", Some("PGSSLROOTCERT")),
    used("sslcert", Some("PGSSLCERT")),
    used("sslkey", Some("PGSSLKEY")),
    used("sslnegotiation", Some("PGSSLNEGOTIATION")),
    used("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION")),
    // Always UTF-8, and what a server of ours needs no word of.
    ignored("client_encoding"),
    ignored("gssencmode"),
    ignored("gssdelegation"),
    ignored("gsslib"),
    ignored("krbsrvname"),
    ignored("sslcompression"),
    ignored("sslsni"),
    ignored("ssl_max_protocol_version"),
    refused("require_auth", Some("PGREQUIREAUTH")),
    refused("requirepeer", Some("PGREQUIREPEER")),
    refused("sslcrl", Some("PGSSLCRL")),
    refused("sslcrldir", Some("PGSSLCRLDIR")),
    refused("sslpassword", None),
    refused("sslcertmode", Some("PGSSLCERTMODE")),
];

pub fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}
