//! The fields of a form that was sent.

use std::str::FromStr;

use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::listener::{self, Problem};

/// Ends the name of a field whose value is encoded once more, as in a URL.
pub const ENCODED: &str = "_encoded";

/// How a form says that there is no limit.
pub const NO_LIMIT: &str = "no limit";

pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn read(body: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(body).into_owned();
        Self(pairs.map(decoded).collect())
    }

    /// An empty field is one that is not there.
    pub fn optional(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    pub fn text(&self, name: &str) -> Result<&str, Problem> {
        self.optional(name)
            .ok_or_else(|| Problem::bad_request(format!("The field {name} is missing.")))
    }

    /// A limit: a number, -1 for the words that say that there is none, or nothing.
    pub fn optional_limit(&self, name: &str) -> Result<Option<i32>, Problem> {
        match self.optional(name) {
            Some(text) if text.trim().eq_ignore_ascii_case(NO_LIMIT) => Ok(Some(-1)),
            _ => self.optional_number(name),
        }
    }

    pub fn optional_number<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        self.optional(name)
            .map(|text| {
                let text = text.trim();
                text.parse()
                    .map_err(|_| Problem::bad_request(not_a_number(name, text)))
            })
            .transpose()
    }

    pub fn number<T: FromStr>(&self, name: &str) -> Result<T, Problem> {
        self.optional_number(name)?
            .ok_or_else(|| Problem::bad_request(format!("The field {name} is missing.")))
    }

    /// Whether the form has the field at all, be it empty.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// As the parameters of a page.
    pub fn parameters<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let text = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish();
        let uri = axum::http::Uri::builder()
            .path_and_query(format!("/?{text}"))
            .build()
            .map_err(|error| Problem::bad_request(error.to_string()))?;
        listener::parameters(&uri)
    }
}

fn decoded((name, value): (String, String)) -> (String, String) {
    match name.strip_suffix(ENCODED) {
        Some(name) => {
            let value = percent_decode_str(&value).decode_utf8_lossy().into_owned();
            (name.to_owned(), value)
        }
        None => (name, value),
    }
}

fn not_a_number(name: &str, text: &str) -> String {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() {
        format!("{name} is a larger number than there can be.")
    } else {
        format!("{name} must be a whole number.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_not_there() {
        let fields = Fields::read(b"name=a+b&slots=&count=7&count=8&id=x");
        assert_eq!(fields.text("name").unwrap(), "a b");
        assert!(fields.has("slots"));
        assert_eq!(fields.optional_number::<i32>("slots").unwrap(), None);
        assert_eq!(fields.number::<i32>("count").unwrap(), 7);
        for wrong in ["slots", "id", "other"] {
            assert!(fields.number::<i64>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn line_ends_stay_what_they_are() {
        let fields = Fields::read(b"name_encoded=a%250Ab%2525&other=a%0Ab");
        assert_eq!(fields.text("name").unwrap(), "a\nb%");
        assert_eq!(fields.text("other").unwrap(), "a\nb");
    }

    #[test]
    fn numbers_have_bounds() {
        let fields = Fields::read(b"large=2147483648&small=-2147483649&half=1.5&sign=-");
        let told = |name| fields.number::<i32>(name).unwrap_err().detail().to_owned();
        assert!(told("large").contains("larger") && told("small").contains("larger"));
        assert!(told("half").contains("whole") && told("sign").contains("whole"));
    }
}
