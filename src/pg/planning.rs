//! What the planner may choose for the statements of the extension.

#![allow(unsafe_code, reason = "changes settings of the server for a while")]

use crate::pg::settings;
use crate::pg::statement::Statement;
use pgrx::pg_sys;

/// While it lives, the planner prefers indexes: a plan that was kept since the table was small would read all of it. Where there is
/// none, it does not compile the costly scan. What the caller has switched off does not count. Only who plans anew pays for it.
pub struct PlanForGrowth(i32);

impl PlanForGrowth {
    pub fn while_planning(statement: &Statement, is_planned: bool) -> Option<Self> {
        is_planned.then(|| {
            let bitmaps = match statement.walks_index {
                true => c"off",
                false => c"on",
            };
            // SAFETY: an abort undoes the settings as well.
            unsafe {
                let level = pg_sys::NewGUCNestLevel();
                for (setting, value) in [
                    (c"enable_seqscan", c"off"),
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
        })
    }
}

impl Drop for PlanForGrowth {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the level was opened in `while_planning`; after an error the abort closes it.
            unsafe { pg_sys::AtEOXact_GUC(false, self.0) };
        }
    }
}
