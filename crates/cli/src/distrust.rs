//! Why a certificate is not trusted, in words.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// None: it is another error.
pub fn words(error: &(dyn Error + 'static)) -> Option<String> {
    // What an io::Error holds is not among its causes.
    let inside = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    let tls = match inside {
        Some(inside) => inside.downcast_ref(),
        None => error.downcast_ref(),
    };
    match tls {
        Some(rustls::Error::InvalidCertificate(why)) => Some(format!(
            "the certificate of the server is not trusted: {}",
            reason(why)
        )),
        _ => None,
    }
}

fn reason(why: &CertificateError) -> String {
    use CertificateError as Of;
    let words = match why {
        Of::UnknownIssuer => "no authority that is known here has issued it",
        Of::Expired | Of::ExpiredContext { .. } => "it has expired",
        Of::NotValidYet | Of::NotValidYetContext { .. } => "it is not valid yet",
        Of::NotValidForName => "it is for another name",
        Of::InvalidPurpose | Of::InvalidPurposeContext { .. } => "it is not made for servers",
        Of::Revoked => "it was revoked",
        Of::BadEncoding => "it cannot be read",
        Of::BadSignature => "its signature is wrong",
        Of::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            "it is the certificate of an authority (CA:TRUE), and so not one of a server"
        }
        other => return other.to_string(),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;

    use super::*;

    #[derive(Debug)]
    struct CaUsedAsEndEntity;

    impl std::fmt::Display for CaUsedAsEndEntity {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(formatter, "{self:?}")
        }
    }

    impl Error for CaUsedAsEndEntity {}

    #[test]
    fn reasons_are_found_also_in_errors_of_the_system() {
        let other = OtherError(Arc::new(CaUsedAsEndEntity));
        let error = rustls::Error::InvalidCertificate(CertificateError::Other(other));
        let told = words(&error).unwrap();
        assert!(
            told.contains("(CA:TRUE)") && !told.contains("Other"),
            "{told}"
        );
        assert_eq!(words(&io::Error::other(error)), Some(told));
        assert_eq!(words(&io::Error::other("another")), None);
        assert_eq!(words(&rustls::Error::DecryptError), None);
    }
}
