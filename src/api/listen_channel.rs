//! The channel of a queue, for who has a loop of events of his own.

use crate::api::names::required_name;
use crate::call::{Call, datum, must_be_writable};
use crate::error::Result;
use crate::lane::{channel, claimed_key};
use crate::{catalog, listen, permission};
use pgrx::pg_sys::Datum;

pub fn listen_channel(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queue = required_name(call.text(0), "queue")?;
    permission::listen(queue)?;
    let queue = claimed_key(queue);
    listen::listen(catalog::job_table()?, queue)?;
    Ok(datum(channel(queue)))
}
