//! Keywords with their values. What is set first stays: the command line comes before the service file, that before the environment.

use std::collections::BTreeMap;

use super::keywords::{self, KEYWORDS, Use};
use crate::error::Error;

#[derive(Debug, Default)]
pub struct Parameters(BTreeMap<&'static str, String>);

impl Parameters {
    /// Within one string the last value counts, as in libpq.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let name = known(name)?;
        self.0.insert(name, value.to_owned());
        Ok(())
    }

    pub fn set_default(&mut self, name: &'static str, value: &str) {
        self.0.entry(name).or_insert_with(|| value.to_owned());
    }

    pub fn add(&mut self, others: Parameters) {
        for (name, value) in others.0 {
            self.0.entry(name).or_insert(value);
        }
    }

    pub fn add_environment(&mut self) {
        for keyword in KEYWORDS {
            if let Some(value) = keyword
                .variable
                .and_then(|variable| std::env::var(variable).ok())
            {
                self.set_default(keyword.name, &value);
            }
        }
    }

    /// An empty value stands for none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Refuses what would have to be ignored to go on, if ignoring it is less than the user asked for.
    pub fn refuse_unsupported(&self) -> Result<(), Error> {
        for keyword in KEYWORDS {
            if keyword.usage == Use::Refused && self.get(keyword.name).is_some() {
                return Err(Error::Usage(format!(
                    "the connection parameter {} is not supported",
                    keyword.name
                )));
            }
        }
        if self.get("gssencmode") == Some("require") {
            return Err(Error::Usage(
                "gssencmode=require is not supported".to_owned(),
            ));
        }
        Ok(())
    }
}

fn known(name: &str) -> Result<&'static str, Error> {
    keywords::find(name)
        .map(|keyword| keyword.name)
        .ok_or_else(|| Error::Usage(format!("there is no connection parameter {name:?}")))
}

/// A value that the parameter cannot have.
pub fn wrong(name: &str, value: &str) -> Error {
    Error::Usage(format!(
        "the connection parameter {name} cannot be {value:?}"
    ))
}
