//! Workers that wait for jobs: asleep in the server, or listening to a channel.

pub mod channels; // channels, and what a claim in vain leaves for their listeners
pub mod notifier; // tells listeners of work
pub mod sleep; // until there is work
