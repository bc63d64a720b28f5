//! Signatures of Standard Webhooks: `v1,` and HMAC-SHA256 of `id.timestamp.body` in base64, one for each secret.

use std::fmt::{self, Write};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;

/// With or without the `=` at the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Several are there while one takes the place of another.
const MOST: usize = 10;

/// The secrets of an endpoint. Their values are in no error and no log.
#[derive(Clone)]
pub struct Keys(Vec<hmac::Key>);

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} secrets", self.0.len())
    }
}

impl Keys {
    /// Secrets with whitespace between them: `whsec_` and base64, or any other text, which is taken as it is.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let keys: Vec<hmac::Key> = text.split_whitespace().map(key).collect::<Result<_, _>>()?;
        match keys.len() {
            0 => Err("it has no secret"),
            1..=MOST => Ok(Self(keys)),
            _ => Err("it has more than 10 secrets"),
        }
    }

    /// The value of `webhook-signature`. `timestamp` are seconds since 1970.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut signed = format!("{id}.{timestamp}.").into_bytes();
        signed.extend_from_slice(body);
        let mut signatures = String::new();
        for key in &self.0 {
            let space = if signatures.is_empty() { "" } else { " " };
            let signature = BASE64.encode(hmac::sign(key, &signed));
            // Writing to a string does not fail.
            _ = write!(signatures, "{space}v1,{signature}");
        }
        signatures
    }
}

fn key(text: &str) -> Result<hmac::Key, &'static str> {
    if text.starts_with("whsk_") || text.starts_with("whpk_") {
        return Err(
            "it has an asymmetric key, and signatures here need one that begins with whsec_",
        );
    }
    let bytes = match text.strip_prefix("whsec_") {
        Some(encoded) => BASE64
            .decode(encoded)
            .map_err(|_| "what follows whsec_ is not base64")?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.is_empty() {
        return Err("it has an empty secret");
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn signed(secrets: &str) -> String {
        Keys::parse(secrets).unwrap().sign(ID, TIMESTAMP, BODY)
    }

    /// As the libraries of Standard Webhooks test themselves.
    #[test]
    fn a_signature_is_the_published_one() {
        assert_eq!(signed(SECRET), SIGNATURE);
        assert_eq!(signed(&format!("\n {SECRET}\n")), SIGNATURE);
    }

    #[test]
    fn each_secret_signs() {
        // Made by Python's hmac.
        let of_text = "v1,k/xhwlDx36ifJJoYFEAOO63Ol3buOef3elvLWUzSBl8=";
        assert_eq!(signed("plain-text-key"), of_text);
        let both = signed(&format!("plain-text-key\n{SECRET}\n"));
        assert_eq!(both, format!("{of_text} {SIGNATURE}"));
    }

    #[test]
    fn padding_is_not_needed() {
        assert_eq!(signed("whsec_c2VjcmV0cw=="), signed("whsec_c2VjcmV0cw"));
        assert_eq!(signed("whsec_c2VjcmV0cw"), signed("secrets"));
    }

    #[test]
    fn other_secrets_are_errors_that_do_not_tell_them() {
        for text in [
            "",
            " \n",
            "whsec_",
            "whsec_hunter2!",
            "whsk_hunter2",
            "a whsec_hunter2!",
        ] {
            let told = Keys::parse(text).unwrap_err();
            assert!(!told.contains("hunter2"), "{told}");
        }
        assert!(Keys::parse(&"x ".repeat(10)).is_ok());
        assert!(Keys::parse(&"x ".repeat(11)).is_err());
        assert_eq!(
            format!("{:?}", Keys::parse("hunter2").unwrap()),
            "1 secrets"
        );
    }
}
