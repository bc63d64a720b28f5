//! What the planner may choose for the statements of the extension, and plans that were made so.

#![allow(
    unsafe_code,
    reason = "calls SPI, and changes settings of the server for a while"
)]

use crate::pg::error::{Result, internal};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use crate::pg::spi::Spi;
use crate::pg::statement::{Reads, Statement};
use pgrx::pg_sys;

/// A plan that cannot be replaced, and the tables that it reads or changes locked. Snapshots taken from now on see
/// what was committed while the locks were waited for; older ones do not.
pub struct LockedPlan {
    pub plan: pg_sys::SPIPlanPtr,
    cached: *mut pg_sys::CachedPlan,
}

impl LockedPlan {
    pub fn of(statement: &Statement, spi: &Spi) -> Result<Self> {
        let (plan, is_planned) = statement.plan(spi)?;
        let settings = is_planned.then(|| PlanForGrowth::of(statement));
        let before = generation(plan)?;
        let locked = Self::lock(plan);
        drop(settings);
        if is_planned || generation(plan)? == before || armed(Seeded::TrustTheFirstPlan) {
            return Ok(locked);
        }
        // What came with the locks has had the server plan it anew, with the settings of the caller.
        drop(locked);
        forget(plan)?;
        let _settings = PlanForGrowth::of(statement);
        Ok(Self::lock(plan))
    }

    /// The locks last as long as the transaction.
    fn lock(plan: pg_sys::SPIPlanPtr) -> Self {
        // SAFETY: the plan is kept, and of one statement.
        let cached = unsafe { pg_sys::SPI_plan_get_cached_plan(plan) };
        Self { plan, cached }
    }
}

impl Drop for LockedPlan {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.cached.is_null() {
            // SAFETY: the plan was got in `lock`, for this owner; after an error the abort releases it.
            unsafe { pg_sys::ReleaseCachedPlan(self.cached, pg_sys::CurrentResourceOwner) };
        }
    }
}

/// How often it was planned.
fn generation(plan: pg_sys::SPIPlanPtr) -> Result<i32> {
    // SAFETY: as `source` says.
    source(plan).map(|source| unsafe { (*source).generation })
}

/// Has the next use plan it, as an invalidation would.
fn forget(plan: pg_sys::SPIPlanPtr) -> Result<()> {
    // SAFETY: as `source` says; what it has for a generic plan is one, or null.
    unsafe {
        if let Some(generic) = (*source(plan)?).gplan.as_mut() {
            generic.is_valid = false;
        }
    }
    Ok(())
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

/// While it lives, the planner prefers indexes: a plan that was kept since the table was small would read all of it. Where there is
/// none, it does not compile the costly scan. What the caller has switched off does not count. Only who plans anew pays for it.
struct PlanForGrowth(i32);

impl PlanForGrowth {
    fn of(statement: &Statement) -> Self {
        let [sequential, bitmaps] = match statement.reads {
            Reads::Named => [c"off", c"on"],
            Reads::InOrder => [c"off", c"off"],
            Reads::All => [c"on", c"on"],
        };
        // SAFETY: an abort undoes the settings as well.
        unsafe {
            let level = pg_sys::NewGUCNestLevel();
            if armed(Seeded::PlanAsTheCaller) {
                return Self(level);
            }
            for (setting, value) in [
                (c"enable_seqscan", sequential),
                (c"jit", c"off"),
                (c"enable_bitmapscan", bitmaps),
                (c"enable_nestloop", c"on"),
                (c"enable_tidscan", c"on"),
                (c"enable_indexscan", c"on"),
            ] {
                settings::set_in_level(setting, value);
            }
            Self(level)
        }
    }
}

impl Drop for PlanForGrowth {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the level was opened in `of`; after an error the abort closes it.
            unsafe { pg_sys::AtEOXact_GUC(false, self.0) };
        }
    }
}
