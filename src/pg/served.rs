//! Which catalogs this library can serve. The two change at different moments: the library when the server restarts, the
//! catalog of each database by ALTER EXTENSION.

use crate::pg::catalog;
use crate::pg::error::{Failure, Result, old_catalog, old_library, renamed_schema};
use crate::pg::rights;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Statement, statement, with_spi};
use std::cell::Cell;

/// The version of this library.
pub const LIBRARY: &str = env!("CARGO_PKG_VERSION");
/// The versions of the catalog that it can serve. One of an earlier release belongs here as long as the library knows its tables
/// and functions: then workers go on between the restart of the server and ALTER EXTENSION. That of 0.1.0 has no jobs that wait for others.
const CATALOGS: &[&str] = &[LIBRARY];
/// Its body is a statement with the version in quotes. It is read, and never run.
const STATEMENT: (&str, &str) = ("SELECT '", "'");

static SCHEMA: Statement = statement!("schema_of_extension", []);

/// The schema in which everything is looked for.
const HOME: &str = "turnstile";

thread_local! {
    /// The version of [`catalog`] as of which the library is known to serve it.
    static KNOWN: Cell<u64> = const { Cell::new(0) };
}

/// Fails where the arguments and the tables may be others than those that the library knows.
pub fn must_know_catalog() -> Result<()> {
    match KNOWN.get() == catalog::version() {
        true => Ok(()),
        false => look(),
    }
}

#[cold]
fn look() -> Result<()> {
    let version = catalog::version();
    // An upgrade by several scripts passes versions that the library does not serve.
    if catalog::is_in_script() {
        return Ok(());
    }
    let body = catalog::body_of_function(c"catalog_version");
    let found = body.as_deref().and_then(|body| {
        let (before, after) = STATEMENT;
        body.strip_prefix(before)?.strip_suffix(after)
    });
    match found {
        Some(found) if CATALOGS.contains(&found) || armed(Seeded::ServeAnyCatalog) => {
            KNOWN.set(version);
            Ok(())
        }
        found => Err(match schema()? {
            Some(schema) if schema != HOME => renamed_schema(&schema),
            _ => refusal(found.unwrap_or("unknown")),
        }),
    }
}

/// The extension's own schema; none if it has none.
fn schema() -> Result<Option<String>> {
    rights::with_pinned_path(|| with_spi(|spi| Ok(spi.run(&SCHEMA, &[])?.value(0, 1))))
}

fn refusal(catalog: &str) -> Failure {
    match numbers(catalog) > numbers(LIBRARY) {
        true => old_library(LIBRARY, catalog),
        false => old_catalog(LIBRARY, catalog),
    }
}

fn numbers(version: &str) -> Vec<u32> {
    let release = version.split('-').next().unwrap_or_default();
    let parts = release.split('.');
    parts.map(|part| part.parse().unwrap_or(0)).collect()
}
