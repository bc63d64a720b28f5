//! TLS by rustls, with the meanings that libpq gives to sslmode.

mod verifiers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::files;
use super::parameters::{Parameters, wrong};
use crate::error::Error;
use verifiers::{AnyCertificate, Known};

type Certificate = CertificateDer<'static>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    pub fn of(parameters: &Parameters) -> Result<Self, Error> {
        let root = parameters.get("sslrootcert");
        let default = if root == Some("system") {
            "verify-full"
        } else {
            "prefer"
        };
        let value = parameters.get("sslmode").unwrap_or(default);
        Ok(match value {
            "disable" => Mode::Disable,
            "allow" | "prefer" => Mode::Prefer,
            // As in libpq: who has a root certificate wants it to be used.
            "require" if root.is_some() || default_file("root.crt").is_some() => Mode::VerifyCa,
            "require" => Mode::Require,
            "verify-ca" => Mode::VerifyCa,
            "verify-full" => Mode::VerifyFull,
            _ => return Err(wrong("sslmode", value)),
        })
    }
}

pub fn connector(parameters: &Parameters) -> Result<MakeRustlsConnect, Error> {
    let provider = Arc::new(ring::default_provider());
    let versions: &[&rustls::SupportedProtocolVersion] =
        match parameters.get("ssl_min_protocol_version") {
            Some("TLSv1.3") => &[&rustls::version::TLS13],
            _ => &[&rustls::version::TLS12, &rustls::version::TLS13],
        };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| Error::Usage(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier(parameters, provider)?);
    let mut config = match own_certificate(parameters)? {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            Error::Usage(format!(
                "the certificate of sslcert cannot be used: {error}"
            ))
        })?,
        None => builder.with_no_client_auth(),
    };
    // The server insists on it where TLS begins without a word of the protocol (sslnegotiation=direct).
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

// ---- The server's certificate ---------------------------------------------------------------------

fn verifier(
    parameters: &Parameters,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let is_name_compared = match Mode::of(parameters)? {
        Mode::Disable | Mode::Prefer | Mode::Require => {
            return Ok(Arc::new(AnyCertificate(provider)));
        }
        Mode::VerifyCa => false,
        Mode::VerifyFull => true,
    };
    let (roots, given) = roots(parameters)?;
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| Error::Usage(format!("the root certificates cannot be used: {error}")))?;
    Ok(Arc::new(Known {
        inner,
        given,
        is_name_compared,
    }))
}

/// The certificates that are trusted, and those of them that a file of the user's has.
fn roots(parameters: &Parameters) -> Result<(RootCertStore, Vec<Certificate>), Error> {
    let mut roots = RootCertStore::empty();
    let mut given = Vec::new();
    let file = match parameters.get("sslrootcert") {
        Some("system") => None,
        Some(file) => Some(PathBuf::from(file)),
        None => default_file("root.crt"),
    };
    match file {
        Some(file) => {
            given = certificates(&file)?;
            for certificate in &given {
                roots
                    .add(certificate.clone())
                    .map_err(|error| unusable(&file, &error))?;
            }
        }
        None => _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    }
    if roots.is_empty() {
        return Err(Error::Usage(
            "there are no root certificates to verify the server with; name a file by sslrootcert"
                .to_owned(),
        ));
    }
    Ok((roots, given))
}

fn default_file(name: &str) -> Option<PathBuf> {
    files::of_home(name).filter(|file| file.is_file())
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, Error> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(file, &error))
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Usage(format!("{} cannot be used: {error}", file.display()))
}

// ---- The certificate of the client ----------------------------------------------------------------

type OwnCertificate = (Vec<Certificate>, PrivateKeyDer<'static>);

fn own_certificate(parameters: &Parameters) -> Result<Option<OwnCertificate>, Error> {
    let named = |name: &str, default: &str| {
        parameters
            .get(name)
            .map(PathBuf::from)
            .or_else(|| default_file(default))
    };
    let Some(chain) = named("sslcert", "postgresql.crt") else {
        return Ok(None);
    };
    let Some(key) = named("sslkey", "postgresql.key") else {
        return Err(Error::Usage(format!(
            "there is no key (sslkey) for the certificate {}",
            chain.display()
        )));
    };
    let read = PrivateKeyDer::from_pem_file(&key).map_err(|error| unusable(&key, &error))?;
    Ok(Some((certificates(&chain)?, read)))
}
