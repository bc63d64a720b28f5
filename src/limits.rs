//! Limits of gates, read from the tables of settings when a claim first meets the gate.

use crate::call::datum;
use crate::error::Result;
use crate::lane::{DEFAULT_ROW, account_key, concurrency_key, queue_key, tenant_key};
use crate::plan::{Spi, Statement, statement};
use crate::seeded::{Seeded, armed};
use crate::shmem;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, LaneSpec, Limit, UnknownGate};

static QUEUE: Statement = statement!("limit_queue", [INT8ARRAYOID]);
static TENANT: Statement = statement!("limit_tenant", [INT8ARRAYOID]);
static ACCOUNT: Statement = statement!("limit_account", [INT8ARRAYOID]);
static CONCURRENCY: Statement = statement!("limit_concurrency", [INT8ARRAYOID]);

/// Reads the missing limits of a lane. They are stored only where the table has not changed since the
/// pick noted the version: the snapshot is younger than that.
pub fn read(
    spi: &Spi,
    job_table: pg_sys::Oid,
    spec: &LaneSpec,
    gates: &[UnknownGate],
) -> Result<()> {
    let mut limits = Vec::with_capacity(gates.len());
    for gate in gates.iter().filter(|gate| gate.key != 0) {
        limits.push((*gate, read_one(spi, spec, gate)?));
    }
    shmem::with(job_table, |memory| {
        for (gate, limit) in &limits {
            memory
                .scheduler
                .set_limit(gate.kind, gate.key, gate.version, *limit)?;
        }
        Ok(())
    })
}

fn read_one(spi: &Spi, spec: &LaneSpec, gate: &UnknownGate) -> Result<Limit> {
    let (statement, rows) = match gate.kind {
        GateKind::Queue => (&QUEUE, vec![gate.key, queue_key(DEFAULT_ROW)]),
        GateKind::Tenant => (&TENANT, vec![gate.key, tenant_key(DEFAULT_ROW)]),
        GateKind::Account => (
            &ACCOUNT,
            vec![
                gate.key,
                account_key(spec.tenant, DEFAULT_ROW),
                account_key(tenant_key(DEFAULT_ROW), DEFAULT_ROW),
            ],
        ),
        GateKind::Concurrency => (&CONCURRENCY, vec![gate.key, concurrency_key(DEFAULT_ROW)]),
        GateKind::Session | GateKind::Unique => return Ok(Limit::AtMost(1)),
    };
    let rows: Vec<i64> = rows.into_iter().map(u64::cast_signed).collect();
    let most = match armed(Seeded::ReadOwnLimits) {
        true => spi.run(statement, &[datum(rows)])?.value(0, 1),
        false => spi.committed::<i32>(statement, &[datum(rows)])?,
    };
    Ok(match most {
        Some(most) => Limit::AtMost(u32::try_from(most).unwrap_or(0)),
        None => Limit::None,
    })
}
