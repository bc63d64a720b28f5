//! Workers that wait for jobs: asleep in the server, or listening to a channel.

pub mod channels; // channels, and how a claim that found nothing arms them
mod housekeeping;
pub mod notifier; // notifies listeners of work
pub mod patrol; // starts a worker where something is overdue
pub mod process; // what processes of the extension have in common
pub mod sleep; // until there is work
mod tour; // looks into each database once
