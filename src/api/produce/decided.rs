//! A job that was asked for, with what its parent, the routes and the queue decide.

use crate::api::produce::asked_key::{Asked, UniqueKey};
use crate::api::produce::new_job::Named;
use crate::api::produce::ties::{inherit, with_parent};
use crate::job::values::JobValues;
use crate::pg::error::Result;
use crate::pg::spi::Spi;
use crate::transaction::parent::Parent;

pub struct Decided<'a> {
    pub tenant: Option<&'a str>,
    pub values: JobValues,
    pub unique: Option<UniqueKey>,
}

/// `id` is that of the parent, which is known where it is locked.
pub fn decide<'a>(
    spi: &Spi,
    (named, asked): (Named<'a>, JobValues),
    unique: &Asked,
    (id, parent): (Option<i64>, Option<&'a Parent>),
) -> Result<Decided<'a>> {
    let named = inherit(named, parent)?;
    let asked = with_parent(asked, &named, id, parent);
    let unique = unique.unique_key(spi, &asked)?;
    Ok(Decided {
        tenant: named.tenant,
        values: named.routed(spi, &asked)?,
        unique,
    })
}
