//! Gates open and close: by the jobs that they hold, by rates and pauses, and by their settings.

pub mod aging;
pub mod bucket;
pub mod gate;
pub mod hold;
pub mod idle;
pub mod meter;
pub mod rated;
pub mod settings;
pub mod timer;
pub mod trim;
