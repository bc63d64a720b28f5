//! A value of a payload, by its keys. Numbers stay as they are written: those of PostgreSQL have more digits than a float.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// `payload.a.0` is the first element of the array `a`.
pub fn find(payload: &RawValue, name: &str) -> Result<String, &'static str> {
    const MISSING: &str = "is not in the payload";
    let mut found = payload;
    for key in name.split('.').skip(1) {
        found = step(found, key).ok_or(MISSING)?;
    }
    let text = found.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).map_err(|_| "is no text"),
        Some(b'{') => Err("is an object"),
        Some(b'[') => Err("is an array"),
        Some(b'n') => Err("is null"),
        Some(_) => Ok(text.to_owned()),
        None => Err(MISSING),
    }
}

fn step<'a>(within: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    let text = within.get();
    if text.starts_with('{') {
        let mut members: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        return members.remove(key);
    }
    if !text.starts_with('[') {
        return None;
    }
    let index: usize = key.parse().ok()?;
    // Not `+1` or `01`.
    if index.to_string() != key {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    elements.get(index).copied()
}
