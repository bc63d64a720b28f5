//! Arguments of statements, which are also a part of the key under which what they gave is kept for a moment.

use tokio_postgres::types::{ToSql, Type};

use crate::query::Parameter;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Text(Option<String>),
    Long(Option<i64>),
    Int(Option<i32>),
    Flag(Option<bool>),
    Texts(Vec<String>),
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Value::Text(Some(text.into()))
    }

    /// What it takes besides its own size.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.as_ref().map_or(0, String::len),
            Value::Texts(texts) => texts
                .iter()
                .map(|text| size_of::<String>() + text.len())
                .sum(),
            Value::Long(_) | Value::Int(_) | Value::Flag(_) => size_of::<Self>(),
        }
    }

    pub fn parameter(&self) -> Parameter<'_> {
        let (value, kind): (&(dyn ToSql + Sync), Type) = match self {
            Value::Text(text) => (text, Type::TEXT),
            Value::Long(number) => (number, Type::INT8),
            Value::Int(number) => (number, Type::INT4),
            Value::Flag(flag) => (flag, Type::BOOL),
            Value::Texts(texts) => (texts, Type::TEXT_ARRAY),
        };
        (value, kind)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Long(Some(number))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::text(text)
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Value::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Value::Text(text.map(str::to_owned))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Value::Long(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Value::Int(Some(number))
    }
}

impl From<Option<i32>> for Value {
    fn from(number: Option<i32>) -> Self {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Flag(Some(flag))
    }
}
