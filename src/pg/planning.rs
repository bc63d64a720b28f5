//! What the planner may choose for the statements of the extension, and plans that were made so.

#![allow(
    unsafe_code,
    reason = "calls SPI, and changes settings of the server for a while"
)]

use crate::pg::error::{Result, internal};
use crate::pg::estimates::LargeTables;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use crate::pg::statement::{Reads, Statement};
use pgrx::pg_sys;
use std::ffi::CStr;

/// A plan that cannot be replaced, and the tables that it reads or changes locked. Snapshots taken from now on see
/// what was committed while the locks were waited for; older ones do not.
pub struct LockedPlan {
    pub plan: pg_sys::SPIPlanPtr,
    cached: *mut pg_sys::CachedPlan,
    _settings: Option<Settings>,
}

impl LockedPlan {
    pub fn of(statement: &Statement) -> Result<Self> {
        let plan = statement.plan()?;
        let source = source(plan)?;
        let must_plan = !is_planned(source);
        let growth = must_plan.then(|| ForGrowth::of(statement));
        let before = generation(source);
        let mut cached = lock(plan);
        drop(growth);
        if !must_plan && generation(source) != before && !armed(Seeded::TrustTheFirstPlan) {
            // What came with the locks has had the server plan it anew, with the settings of the caller.
            release(cached);
            forget(source);
            let _growth = ForGrowth::of(statement);
            cached = lock(plan);
        }
        Ok(Self {
            plan,
            cached,
            _settings: Settings::that_use_kept_plans(),
        })
    }
}

/// The locks last as long as the transaction.
fn lock(plan: pg_sys::SPIPlanPtr) -> *mut pg_sys::CachedPlan {
    // SAFETY: the plan is kept, and of one statement.
    unsafe { pg_sys::SPI_plan_get_cached_plan(plan) }
}

fn release(cached: *mut pg_sys::CachedPlan) {
    if !cached.is_null() {
        // SAFETY: it was got in `lock`, for this owner.
        unsafe { pg_sys::ReleaseCachedPlan(cached, pg_sys::CurrentResourceOwner) };
    }
}

impl Drop for LockedPlan {
    fn drop(&mut self) {
        // After an error the abort releases it.
        if !std::thread::panicking() {
            release(self.cached);
        }
    }
}

/// Whether there is a plan, as far as is known yet: locks can bring news.
fn is_planned(source: *mut pg_sys::CachedPlanSource) -> bool {
    // SAFETY: as `source` says.
    unsafe { !(*source).gplan.is_null() && pg_sys::CachedPlanIsValid(source) }
}

/// How often it was planned.
fn generation(source: *mut pg_sys::CachedPlanSource) -> i32 {
    // SAFETY: as `source` says.
    unsafe { (*source).generation }
}

/// Has the next use plan it, as an invalidation would.
fn forget(source: *mut pg_sys::CachedPlanSource) {
    // SAFETY: as `source` says; what it has for a generic plan is one, or null.
    unsafe {
        if let Some(generic) = (*source).gplan.as_mut() {
            generic.is_valid = false;
        }
    }
}

/// It lives as long as the plan, which is kept.
fn source(plan: pg_sys::SPIPlanPtr) -> Result<*mut pg_sys::CachedPlanSource> {
    // SAFETY: a list of its sources, of which a statement has one.
    unsafe {
        let sources = pg_sys::SPI_plan_get_plan_sources(plan);
        let first = sources.as_ref().and_then(|list| list.elements.as_ref());
        let source = first.map(|cell| cell.ptr_value.cast());
        source.ok_or_else(|| internal("a plan without a statement"))
    }
}

/// While it lives, plans are made for growth. Only who plans anew pays for it.
struct ForGrowth {
    _settings: Settings,
    _tables: Option<LargeTables>,
}

impl ForGrowth {
    /// How to read all of a table goes by what is known of it.
    fn of(statement: &Statement) -> Self {
        Self {
            _settings: Settings::of_planning(statement),
            _tables: (statement.reads != Reads::All).then(LargeTables::assumed),
        }
    }
}

/// Settings that hold while this lives.
struct Settings(i32);

impl Settings {
    /// The planner prefers indexes: a plan that was kept since the table was small would read all of it. Where there is none, it does
    /// not compile the costly scan. What the caller has switched off does not count.
    fn of_planning(statement: &Statement) -> Self {
        if armed(Seeded::PlanAsTheCaller) {
            return Self::of([]);
        }
        // A bitmap is made of all that a condition finds, however few rows are wanted, and passes over dead entries each time.
        let (seqscan, bitmapscan) = match statement.reads {
            Reads::Few => (c"off", c"off"),
            Reads::Range => (c"off", c"on"),
            Reads::All => (c"on", c"on"),
        };
        Self::of([
            (c"enable_seqscan", seqscan),
            (c"jit", c"off"),
            (c"enable_bitmapscan", bitmapscan),
            (c"enable_nestloop", c"on"),
            (c"enable_tidscan", c"on"),
            (c"enable_indexscan", c"on"),
            (c"enable_sort", c"on"),
        ])
    }

    /// Where the caller wants a plan for each call, it would be made with the caller's settings.
    fn that_use_kept_plans() -> Option<Self> {
        let custom = pg_sys::PlanCacheMode::PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN.cast_signed();
        // SAFETY: a setting of this process.
        let is_custom = unsafe { pg_sys::plan_cache_mode } == custom;
        (is_custom && !armed(Seeded::PlanAsTheCaller))
            .then(|| Self::of([(c"plan_cache_mode", c"auto")]))
    }

    fn of<const N: usize>(values: [(&CStr, &CStr); N]) -> Self {
        // SAFETY: an abort undoes the settings as well.
        let level = unsafe { pg_sys::NewGUCNestLevel() };
        for (setting, value) in values {
            settings::set_in_level(setting, value);
        }
        Self(level)
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the level was opened in `of`; after an error the abort closes it. What a trigger of a user has set stays.
            unsafe { pg_sys::AtEOXact_GUC(true, self.0) };
        }
    }
}
