//! The query of a path.

use axum::http::Uri;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::listener::{self, Problem};

pub fn read<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    // What is not in UTF-8 would be replaced without a word.
    let text = uri.query().unwrap_or_default();
    if percent_decode_str(text).decode_utf8().is_err() {
        return Err(Problem::bad_request("The query is not in UTF-8."));
    }
    listener::parameters(uri)
}
