//! What keeps jobs from being found, whatever memory has: the tables themselves, for `check()`.

use crate::job::row::waits_for;
use crate::job::state;
use crate::pg::error::Result;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::sync::difference::Difference;
use crate::sync::scan::lane_of_row;

static CHILDREN: Statement = statement!("check_children", []).that_reads_all();
static PLACES: Statement = statement!("check_places", []).that_reads_all();
static TRIGGERS: Statement = statement!("check_triggers", []);

/// Rows that are fetched at once.
const BATCH: i64 = 10_000;

pub fn compare(spi: &Spi, snapshot: &Snapshot, differences: &mut Vec<Difference>) -> Result<()> {
    find_children(spi, differences)?;
    find_misplaced(spi, snapshot, differences)?;
    find_triggers(spi, differences)
}

/// Jobs are rows of the table itself.
fn find_children(spi: &Spi, differences: &mut Vec<Difference>) -> Result<()> {
    let rows = spi.run(&CHILDREN, &[])?;
    for row in 0..rows.len() {
        let (table, count): (&str, i64) = (rows.required(row, 1)?, rows.required(row, 2)?);
        differences.push(Difference {
            problem: "jobs are in a table that inherits from turnstile.job",
            detail: format!("{table} has {count}, which are never claimed"),
        });
    }
    Ok(())
}

/// Jobs that were added while the trigger was disabled that puts them where they are looked for.
#[derive(Default)]
struct Misplaced {
    jobs: i64,
    ids: Option<(i64, i64)>,
}

impl Misplaced {
    fn add(&mut self, first: i64, last: i64, jobs: i64) {
        self.jobs += jobs;
        let (least, most) = self.ids.unwrap_or((first, last));
        self.ids = Some((least.min(first), most.max(last)));
    }
}

fn find_misplaced(spi: &Spi, snapshot: &Snapshot, differences: &mut Vec<Difference>) -> Result<()> {
    let mut found = Misplaced::default();
    spi.scan(&PLACES, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            if !is_in_place(rows, row)? {
                let [first, last, jobs] = [7, 8, 9].map(|column| rows.required(row, column));
                found.add(first?, last?, jobs?);
            }
        }
        Ok(())
    })?;
    if let Some((first, last)) = found.ids {
        differences.push(Difference {
            problem: "jobs are not where their columns say",
            detail: format!(
                "no claim finds {} jobs, of which {first} is the first; this mends it: \
                 UPDATE turnstile.job SET lane = lane WHERE id BETWEEN {first} AND {last}; \
                 SELECT turnstile.rebuild()",
                found.jobs
            ),
        });
    }
    Ok(())
}

fn is_in_place(rows: &Rows, row: usize) -> Result<bool> {
    let lane = lane_of_row(rows, row);
    let stored: [i64; 2] = [rows.required(row, 3)?, rows.required(row, 4)?];
    let state: &str = rows.required(row, 6)?;
    let stored_wait: Option<&str> = rows.value(row, 5);
    Ok(stored == [lane.lane, lane.group()].map(u64::cast_signed)
        && stored_wait == state::counted(state.as_bytes()).and_then(waits_for))
}

/// `ALTER TABLE ... ENABLE TRIGGER USER` leaves them so.
fn find_triggers(spi: &Spi, differences: &mut Vec<Difference>) -> Result<()> {
    let rows = spi.run(&TRIGGERS, &[])?;
    for row in 0..rows.len() {
        let (table, name): (&str, &str) = (rows.required(row, 1)?, rows.required(row, 2)?);
        differences.push(Difference {
            problem: "a trigger of the extension does not fire always",
            detail: format!("this mends it: ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}"),
        });
    }
    Ok(())
}
