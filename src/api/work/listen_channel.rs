//! The channel of a queue, for a client with an event loop of its own.

use crate::api::arguments::required_name;
use crate::job::lane::{channel, claimed_key};
use crate::permission;
use crate::pg::call::{Call, arguments, datum, must_be_writable};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::waiting::channels;
use pgrx::pg_sys::Datum;

arguments!(listen_channel: QUEUE);

pub fn listen_channel(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queue = required_name(call.text(listen_channel::QUEUE), "queue")?;
    permission::listen(queue)?;
    let queue = claimed_key(queue);
    channels::listen(catalog::job_table()?, queue)?;
    Ok(datum(channel(queue)))
}
