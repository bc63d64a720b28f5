//! How children are started, and how long their jobs may take: the same for all slots.

use crate::work::limits::Limits;
use crate::work::process::Spawner;
use crate::work::program::Program;

pub struct Setup {
    pub program: Program,
    pub limits: Limits,
    pub spawner: Spawner,
}
