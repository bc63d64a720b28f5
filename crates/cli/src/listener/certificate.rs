//! TLS of a listener: its certificate and its key.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;
use crate::http::private;

/// `certificate`: the chain as PEM, that of the listener first. They are read once.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Error> {
    let unusable = |file: &Path, why: String| {
        Error::Usage(format!("{} cannot be used: {why}", file.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unusable(certificate, "it has no certificate".to_owned()));
    }
    let metadata = std::fs::metadata(key).map_err(|error| unusable(key, error.to_string()))?;
    private::check(&metadata).map_err(|why| unusable(key, why.to_owned()))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
        pem::Error::NoItemsFound => unusable(key, "it has no private key in the clear".to_owned()),
        error => unusable(key, error.to_string()),
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, secret)
        })
        .map_err(|error| unusable(certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
