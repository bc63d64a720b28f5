//! The file of tokens: `role sha256:HEX`, a line each.
//!
//! It has no token, only hashes, and it is looked at once a second, so that a token can be added and taken back while this program runs.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

use crate::error::Error;
use crate::http::private;

const PACE: Duration = Duration::from_secs(1);
const LONGEST_NAME: usize = 63;
const HASH: usize = 32;

type Roles = HashMap<[u8; HASH], String>;

pub struct TokenFile {
    file: PathBuf,
    state: Mutex<State>,
}

struct State {
    roles: Roles,
    version: Version,
    looked_at: Instant,
}

/// What changes when the file is written or another one takes its name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

impl TokenFile {
    pub fn read(file: PathBuf) -> Result<Self, Error> {
        let unusable = |why| Error::Usage(format!("--tokens {}: {why}", file.display()));
        let metadata = fs::metadata(&file).map_err(|error| unusable(error.to_string()))?;
        private::check(&metadata).map_err(|why| unusable(why.to_owned()))?;
        let text = fs::read_to_string(&file).map_err(|error| unusable(error.to_string()))?;
        let roles = parse(&text).map_err(unusable)?;
        let state = State {
            roles,
            version: Version::of(&metadata),
            looked_at: Instant::now(),
        };
        Ok(Self {
            file,
            state: Mutex::new(state),
        })
    }

    pub fn role_of(&self, token: &str) -> Option<String> {
        // A panic leaves a whole state.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked_at.elapsed() >= PACE {
            self.look(&mut state);
        }
        // The hash is of no use to one who measures how long this takes.
        let hash = digest(&SHA256, token.as_bytes());
        state.roles.get(hash.as_ref()).cloned()
    }

    /// A file with a mistake in it changes nothing.
    fn look(&self, state: &mut State) {
        state.looked_at = Instant::now();
        let file = self.file.display();
        let metadata = match fs::metadata(&self.file) {
            Ok(metadata) => metadata,
            Err(error) => return tracing::error!(%error, "{file} cannot be read again"),
        };
        let version = Version::of(&metadata);
        if version == state.version {
            return;
        }
        if let Err(error) = private::check(&metadata) {
            state.version = version;
            return tracing::error!(error, "{file} is not taken as it is now");
        }
        let text = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            // It may be the moment that is wrong, and is not taken for the file: a token was taken back, perhaps.
            Err(error) => return tracing::error!(%error, "{file} cannot be read again"),
        };
        state.version = version;
        match parse(&text) {
            Ok(roles) => {
                tracing::info!(tokens = roles.len(), "{file} was read again");
                state.roles = roles;
            }
            Err(error) => tracing::error!(error, "{file} is not taken as it is now"),
        }
    }
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            mode: metadata.mode(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn parse(text: &str) -> Result<Roles, String> {
    let mut roles = Roles::new();
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (role, hash) = entry(line).map_err(|why| format!("line {}: {why}", number + 1))?;
        if roles.insert(hash, role).is_some() {
            return Err(format!("line {}: the token is there twice", number + 1));
        }
    }
    Ok(roles)
}

fn entry(line: &str) -> Result<(String, [u8; HASH]), &'static str> {
    let (role, hash) = line
        .rsplit_once(char::is_whitespace)
        .ok_or("it must be a role and sha256:HEX")?;
    let hash = hash
        .strip_prefix("sha256:")
        .and_then(bytes_of)
        .ok_or("it must end in sha256: and 64 hexadecimal digits")?;
    let role = role.trim_end();
    // The server takes "none" for no role at all.
    if role.len() > LONGEST_NAME || role == "none" || role.contains('\0') {
        return Err("no role has that name");
    }
    Ok((role.to_owned(), hash))
}

fn bytes_of(digits: &str) -> Option<[u8; HASH]> {
    if digits.len() != 2 * HASH || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; HASH];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "secret".
    const HASHED: &str = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    #[test]
    fn a_line_is_a_role_and_a_hash() {
        let roles = parse(&format!("# a comment\n\n  the shop \t{HASHED}\n")).unwrap();
        let hash = digest(&SHA256, b"secret");
        assert_eq!(roles.get(hash.as_ref()).unwrap(), "the shop");
        assert_eq!(roles.len(), 1);
        assert!(parse("").unwrap().is_empty());
        let marked = parse(&format!("\u{feff}shop {HASHED}")).unwrap();
        assert_eq!(marked.get(hash.as_ref()).unwrap(), "shop");
    }

    #[test]
    fn mistakes_are_told_by_line() {
        let upper = HASHED.to_uppercase();
        let short = HASHED.get(..70).unwrap();
        for line in [
            "shop",
            "shop secret",
            &format!("none {HASHED}"),
            &format!("{} {HASHED}", "x".repeat(64)),
            &format!("shop {short}"),
            &format!("shop {HASHED}0"),
            &format!("shop {upper}"),
            &format!("shop {}é", HASHED.get(..69).unwrap()),
            HASHED,
        ] {
            assert!(
                parse(&format!("#\n{line}"))
                    .unwrap_err()
                    .starts_with("line 2:"),
                "{line}"
            );
        }
        assert!(parse(&format!("a {HASHED}\nb {HASHED}")).is_err());
    }
}
