//! The files that libpq's users have: services and passwords.

use std::path::{Path, PathBuf};

use super::parameters::Parameters;
use crate::error::Error;
use crate::output;

/// `~/.postgresql/NAME`, where certificates are by default.
pub fn of_home(name: &str) -> Option<PathBuf> {
    home().map(|home| home.join(".postgresql").join(name))
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
}

// ---- Services -------------------------------------------------------------------------------------

/// Adds what the service file says of the service that is asked for.
pub fn add_service(parameters: &mut Parameters) -> Result<(), Error> {
    let variable = std::env::var("PGSERVICE").ok();
    let Some(service) = parameters
        .get("service")
        .or(variable.as_deref())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
    else {
        return Ok(());
    };
    for file in service_files() {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        if let Some(found) = read_service(&text, &service)? {
            parameters.add(found);
            return Ok(());
        }
    }
    Err(Error::Usage(format!(
        "there is no service {service:?} in the service file"
    )))
}

fn service_files() -> Vec<PathBuf> {
    let own = std::env::var_os("PGSERVICEFILE")
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".pg_service.conf")));
    let folder = std::env::var_os("PGSYSCONFDIR")
        .map_or_else(|| PathBuf::from("/etc/postgresql-common"), PathBuf::from);
    own.into_iter()
        .chain([folder.join("pg_service.conf")])
        .collect()
}

fn read_service(text: &str, service: &str) -> Result<Option<Parameters>, Error> {
    let header = format!("[{service}]");
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    if !lines.any(|line| line == header) {
        return Ok(None);
    }
    let mut found = Parameters::default();
    for line in lines.take_while(|line| !line.starts_with('[')) {
        let (name, value) = line.split_once('=').ok_or_else(|| {
            Error::Usage(format!(
                "a line of the service {service:?} has no \"=\": {line:?}"
            ))
        })?;
        found.set(name.trim(), value.trim())?;
    }
    Ok(Some(found))
}

// ---- Passwords ------------------------------------------------------------------------------------

/// What a line of the password file must match.
pub struct Login<'a> {
    pub host: &'a str,
    pub port: &'a str,
    pub database: &'a str,
    pub user: &'a str,
}

pub fn password(file: Option<&str>, login: &Login<'_>) -> Option<String> {
    let file = file
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".pgpass")))?;
    if !is_private(&file) {
        return None;
    }
    let text = std::fs::read_to_string(&file).ok()?;
    text.lines().find_map(|line| matching_password(line, login))
}

/// As libpq does: a file that others can read is not used, and the user is told.
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = std::fs::metadata(file) else {
        return false;
    };
    let is_private = metadata.is_file() && metadata.permissions().mode() & 0o077 == 0;
    if metadata.is_file() && !is_private {
        output::complain(&format_args!(
            "{} is not used, as others than its owner can read it: chmod 600",
            file.display()
        ));
    }
    is_private
}

fn matching_password(line: &str, login: &Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields = fields(line);
    let [host, port, database, user, password] = fields.as_slice() else {
        return None;
    };
    let matches = [
        (host, login.host),
        (port, login.port),
        (database, login.database),
        (user, login.user),
    ]
    .iter()
    .all(|(field, wanted)| *field == "*" || field == wanted);
    matches.then(|| password.clone())
}

/// The five fields of a line; a backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let next = match character {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => characters.next(),
            _ => Some(character),
        };
        if let Some(field) = fields.last_mut() {
            field.extend(next);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{Login, matching_password, read_service};

    const LOGIN: Login<'static> = Login {
        host: "db.example",
        port: "5432",
        database: "jobs",
        user: "me",
    };

    #[test]
    fn a_password_is_that_of_the_login() {
        for (line, password) in [
            ("db.example:5432:jobs:me:secret", Some("secret")),
            ("*:*:*:me:a\\:b:c\\\\", Some("a:b:c\\")),
            ("*:*:*:other:secret", None),
            ("# *:*:*:me:secret", None),
            ("*:*:me:secret", None),
        ] {
            assert_eq!(
                matching_password(line, &LOGIN).as_deref(),
                password,
                "{line}"
            );
        }
    }

    #[test]
    fn a_service_is_a_section() {
        let text = "[one]\nhost=a\n\n[two]\n# comment\nhost = b\nport=1\n[three]\nport=2\n";
        let found = read_service(text, "two").unwrap().unwrap();
        assert_eq!(
            (found.get("host"), found.get("port")),
            (Some("b"), Some("1"))
        );
        assert!(read_service(text, "four").unwrap().is_none());
        assert!(read_service("[x]\nnonsense", "x").is_err());
    }
}
