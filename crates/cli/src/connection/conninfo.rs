//! Reads what `--database` names: a URL, a string of keywords with values, or the name of a database.

use super::parameters::Parameters;
use crate::error::Error;

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

pub fn read(text: &str) -> Result<Parameters, Error> {
    let mut parameters = Parameters::default();
    if let Some(rest) = SCHEMES.iter().find_map(|scheme| text.strip_prefix(scheme)) {
        read_url(rest, &mut parameters)?;
    } else if text.contains('=') {
        read_pairs(text, &mut parameters)?;
    } else {
        parameters.set("dbname", text)?;
    }
    Ok(parameters)
}

// ---- keyword = value ------------------------------------------------------------------------------

fn read_pairs(text: &str, parameters: &mut Parameters) -> Result<(), Error> {
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').ok_or_else(|| {
            Error::Usage(format!(
                "a connection string needs \"=\" after {:?}",
                rest.trim_end()
            ))
        })?;
        let (value, after) = read_value(after.trim_start())?;
        parameters.set(name.trim_end(), &value)?;
        rest = after.trim_start();
    }
    Ok(())
}

/// A value, quoted or not, and what follows it. A backslash takes the next character as it is.
fn read_value(text: &str) -> Result<(String, &str), Error> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if quoted => return Ok((value, rest_of(text, at + 1))),
            _ if !quoted && character.is_whitespace() => return Ok((value, rest_of(text, at))),
            _ => value.push(character),
        }
    }
    if quoted {
        Err(Error::Usage(
            "a quote is not closed in the connection string".to_owned(),
        ))
    } else {
        Ok((value, ""))
    }
}

fn rest_of(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

// ---- URL ------------------------------------------------------------------------------------------

/// `user:password@host:port,host:port/database?keyword=value&…`, without the scheme.
fn read_url(text: &str, parameters: &mut Parameters) -> Result<(), Error> {
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, database) = text.split_once('/').unwrap_or((text, ""));
    let hosts = match authority.rsplit_once('@') {
        Some((login, hosts)) => {
            read_login(login, parameters)?;
            hosts
        }
        None => authority,
    };
    read_hosts(hosts, parameters)?;
    set_decoded("dbname", database, parameters)?;
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .try_for_each(|pair| read_query_pair(pair, parameters))
}

fn read_login(login: &str, parameters: &mut Parameters) -> Result<(), Error> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    set_decoded("user", user, parameters)?;
    set_decoded("password", password, parameters)
}

fn read_hosts(text: &str, parameters: &mut Parameters) -> Result<(), Error> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for place in text.split(',') {
        let (host, port) = split_port(place)?;
        hosts.push(decode(host)?);
        ports.push(port);
    }
    set_list("host", &hosts, parameters)?;
    set_list("port", &ports, parameters)
}

/// An address of IPv6 is in brackets, as it has colons itself.
fn split_port(place: &str) -> Result<(&str, &str), Error> {
    let Some(inner) = place.strip_prefix('[') else {
        return Ok(place.split_once(':').unwrap_or((place, "")));
    };
    let (host, after) = inner.split_once(']').ok_or_else(|| {
        Error::Usage("\"]\" is missing after an IPv6 address in the URL".to_owned())
    })?;
    Ok((host, after.strip_prefix(':').unwrap_or_default()))
}

fn set_list<T: AsRef<str>>(
    name: &str,
    values: &[T],
    parameters: &mut Parameters,
) -> Result<(), Error> {
    if values.iter().all(|value| value.as_ref().is_empty()) {
        return Ok(());
    }
    let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    parameters.set(name, &values.join(","))
}

fn read_query_pair(pair: &str, parameters: &mut Parameters) -> Result<(), Error> {
    let (name, value) = pair
        .split_once('=')
        .ok_or_else(|| Error::Usage(format!("a parameter of the URL has no value: {pair:?}")))?;
    match (name, value) {
        // As JDBC writes it.
        ("ssl", "true") => parameters.set("sslmode", "require"),
        _ => parameters.set(&decode(name)?, &decode(value)?),
    }
}

fn set_decoded(name: &str, value: &str, parameters: &mut Parameters) -> Result<(), Error> {
    if value.is_empty() {
        Ok(())
    } else {
        parameters.set(name, &decode(value)?)
    }
}

fn decode(text: &str) -> Result<String, Error> {
    let wrong = || Error::Usage(format!("%XX is wrong in the URL: {text:?}"));
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [
            rest.next().ok_or_else(wrong)?,
            rest.next().ok_or_else(wrong)?,
        ];
        let digits = std::str::from_utf8(&digits).map_err(|_| wrong())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
