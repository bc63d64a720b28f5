//! Workers that wait for jobs: asleep in the server, or listening to a channel.

pub mod channels; // channels, and how a claim that found nothing arms them
pub mod notifier; // notifies listeners of work
pub mod sleep; // until there is work
