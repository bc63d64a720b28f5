//! The concurrency key of an endpoint's host.

use turnstile_scheduler::LONGEST_NAME;

/// As the generated column `concurrency_key` has it, which a BEFORE trigger cannot read yet. `None`: the table refuses the URL.
pub fn key(url: &str) -> Option<String> {
    let (address, port) = match url.strip_prefix("https://") {
        Some(address) => (address, ":443"),
        None => (url.strip_prefix("http://")?, ":80"),
    };
    let host = address.split(['/', '?']).next()?;
    let host = host.strip_suffix(port).unwrap_or(host);
    let key = format!("host:{}", host.to_ascii_lowercase());
    (key.len() <= LONGEST_NAME).then_some(key)
}
