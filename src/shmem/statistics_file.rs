//! Statistics over a clean restart: the postmaster writes them when it shuts down, when no other process is left, and the first
//! process that uses the memory of a database reads them. After a crash they are not what has happened, and are removed.

#![allow(unsafe_code, reason = "asks the server how it was shut down")]

use super::directory;
use super::locked::Locked;
use super::window::open;
use pgrx::pg_sys;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use turnstile_scheduler::figures::histogram::{BUCKETS, Histogram};
use turnstile_scheduler::figures::{Demand, Id, Label, NameView, StatsView};
use turnstile_scheduler::{GateKind, Step};

/// Where the server's own statistics are; the processes of the server work in its data directory.
const FOLDER: &str = "pg_stat";
const PREFIX: &str = "turnstile.";
/// Files of another format are not read.
const FORMAT: u32 = 1;
/// Each makes a standby, or recovers to a point in time.
const SIGNALS: [&str; 2] = ["standby.signal", "recovery.signal"];

#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    format: u32,
    /// The OID of `turnstile.job`.
    job_table: u32,
    stats_reset: i64,
    queues: Vec<KeptName>,
    tenants: Vec<KeptName>,
}

#[derive(Serialize, Deserialize)]
struct KeptName {
    key: u64,
    name: Box<str>,
    events: Vec<u64>,
    waited: KeptTimes,
    ran: KeptTimes,
    /// 0.1.0 did not count it.
    waited_in_all: Option<KeptTimes>,
}

#[derive(Serialize, Deserialize)]
struct KeptTimes {
    buckets: Vec<u64>,
    sum: u64,
}

/// Called by the postmaster when it lays out its memory after a crash.
pub(super) fn discard() {
    for file in files() {
        let _ = fs::remove_file(file);
    }
}

/// Whether the server begins where another one, or it itself, was shut down: nothing that was committed is missing.
pub(super) fn was_shut_down() -> bool {
    let mut is_whole = false;
    // SAFETY: the server has read the file before it called; it raises an error if it cannot.
    let state = unsafe {
        let file = pg_sys::get_controlfile(pg_sys::DataDir, &raw mut is_whole);
        (*file).state
    };
    is_whole
        && state == pg_sys::DBState::DB_SHUTDOWNED
        && !SIGNALS.iter().any(|signal| Path::new(signal).exists())
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let is_own = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX))
    };
    entries.map(|entry| entry.path()).filter(is_own).collect()
}

fn file_of(database: pg_sys::Oid) -> PathBuf {
    Path::new(FOLDER).join(format!("{PREFIX}{}.json", database.to_u32()))
}

/// Under which name it is written.
fn unfinished(file: &Path) -> PathBuf {
    file.with_extension("new")
}

/// Called by the postmaster at the end of a shutdown. Where a file cannot be written, what it was for begins anew.
pub(super) fn write_all() {
    for slot in 0..directory::count() {
        let Ok(entry) = directory::entry(slot) else {
            continue;
        };
        let (database, job_table) = entry.owner();
        if database == pg_sys::InvalidOid || !entry.is_backed() {
            continue;
        }
        let file = file_of(database);
        if write(slot, job_table, &file).is_none() {
            for unusable in [unfinished(&file), file] {
                let _ = fs::remove_file(unusable);
            }
        }
    }
}

fn write(slot: usize, job_table: pg_sys::Oid, file: &Path) -> Option<()> {
    // No other process is left that could hold its lock.
    let memory = open(slot).ok()?;
    if memory.state.dirty || memory.figures.stats_reset() == 0 {
        return None;
    }
    let of = |kind| -> Option<Vec<KeptName>> {
        let (mut all, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let names;
            (names, next) = memory.figures.view(kind, from, 0).ok()?;
            all.extend(names.into_iter().filter_map(kept));
        }
        Some(all)
    };
    let kept = Kept {
        format: FORMAT,
        job_table: job_table.to_u32(),
        stats_reset: memory.figures.stats_reset(),
        queues: of(GateKind::Queue)?,
        tenants: of(GateKind::Tenant)?,
    };
    let unfinished = unfinished(file);
    let mut output = BufWriter::new(File::create(&unfinished).ok()?);
    serde_json::to_writer(&mut output, &kept).ok()?;
    output.flush().ok()?;
    output.get_ref().sync_all().ok()?;
    fs::rename(unfinished, file).ok()
}

fn kept(name: NameView) -> Option<KeptName> {
    let stats = name.stats?;
    let times = |times: Histogram| KeptTimes {
        buckets: times.buckets.to_vec(),
        sum: times.sum,
    };
    Some(KeptName {
        key: name.key,
        name: name.name,
        events: stats.events.to_vec(),
        waited: times(stats.waited),
        ran: times(stats.ran),
        waited_in_all: Some(times(stats.waited_in_all)),
    })
}

/// What was counted before the restart. Read without a lock: several sessions may come at once.
pub(super) fn read(database: pg_sys::Oid, job_table: pg_sys::Oid) -> Option<Kept> {
    let opened = File::open(file_of(database)).ok()?;
    let kept: Option<Kept> = serde_json::from_reader(BufReader::new(opened)).ok();
    kept.filter(|kept| kept.format == FORMAT && kept.job_table == job_table.to_u32())
}

/// Goes on with it. The caller holds the lock of the memory, which it has just given to the database, so it is the only one that
/// does.
pub(super) fn go_on(memory: &mut Locked, database: pg_sys::Oid, kept: Option<Kept>) {
    // They are those of memory from now on: what is left behind by a crash must not come back.
    if fs::remove_file(file_of(database)).is_ok()
        && let Some(kept) = kept
        && restore(memory, &kept).is_err()
    {
        memory.figures.forget_everything();
    }
}

fn restore(memory: &mut Locked, kept: &Kept) -> Step<()> {
    memory.figures.go_on_since(kept.stats_reset);
    for (kind, names) in [
        (GateKind::Queue, &kept.queues),
        (GateKind::Tenant, &kept.tenants),
    ] {
        for kept in names {
            let label = Label {
                scope: None,
                name: &kept.name,
            };
            if let Some(stats) = stats(kept) {
                memory.make_room_for_figures(&Demand::of(label));
                let id = Id {
                    kind,
                    key: kept.key,
                };
                memory.figures.put_back_stats(id, label, &stats)?;
            }
        }
    }
    Ok(())
}

fn stats(kept: &KeptName) -> Option<StatsView> {
    Some(StatsView {
        events: kept.events.as_slice().try_into().ok()?,
        waited: times(&kept.waited)?,
        ran: times(&kept.ran)?,
        waited_in_all: match &kept.waited_in_all {
            Some(kept) => times(kept)?,
            None => Histogram::default(),
        },
    })
}

fn times(kept: &KeptTimes) -> Option<Histogram> {
    let buckets: [u64; BUCKETS] = kept.buckets.as_slice().try_into().ok()?;
    Some(Histogram {
        buckets,
        sum: kept.sum,
    })
}

/// The database is dropped.
pub(super) fn remove(database: pg_sys::Oid) {
    let _ = fs::remove_file(file_of(database));
}
