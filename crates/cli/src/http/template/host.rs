//! The part of a template that no payload changes: where requests go.

use url::{Host, Url};

use super::errors::Invalid;

/// Scheme, host and port as a URL, and what stands behind them.
pub fn split(text: &str) -> Result<(Url, &str), Invalid> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(Invalid::because(
            "it begins with neither http:// nor https://",
        ));
    };
    if !["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err(Invalid::because(
            "it begins with neither http:// nor https://",
        ));
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    check_authority(authority)?;
    let base = Url::parse(&format!("{scheme}://{authority}/"))
        .map_err(|error| Invalid::because(error.to_string()))?;
    if !is_as_written(authority, &base) {
        return Err(Invalid::because("its host is not spelled as it is meant"));
    }
    Ok((base, rest))
}

fn check_authority(authority: &str) -> Result<(), Invalid> {
    let wrong = match authority {
        "" => "it has no host",
        _ if authority.contains(['{', '}']) => "a placeholder stands before the path",
        _ if authority.contains('@') => "it has a user name",
        // Of an encoded name, or of the zone of an IPv6 address.
        _ if authority.contains('%') => "its host has a percent sign",
        _ => return Ok(()),
    };
    Err(Invalid::because(wrong))
}

/// The numbers that stand for an IPv4 address are as good as the address, which is looked at. Letters that turn into others are not:
/// a name that is not ASCII stays one that is not, as `xn--…`.
fn is_as_written(authority: &str, base: &Url) -> bool {
    let name = match authority.rsplit_once(':') {
        Some((name, _port)) => name,
        None => authority,
    };
    match base.host() {
        Some(Host::Ipv6(_)) => true,
        Some(Host::Ipv4(_)) => name.is_ascii(),
        Some(Host::Domain(domain)) => {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            domain.bytes().all(is_letter)
                && name.split('.').count() == domain.split('.').count()
                && name
                    .split('.')
                    .zip(domain.split('.'))
                    .all(|(written, meant)| {
                        if written.is_ascii() {
                            written.eq_ignore_ascii_case(meant)
                        } else {
                            meant.starts_with("xn--")
                        }
                    })
        }
        None => false,
    }
}
