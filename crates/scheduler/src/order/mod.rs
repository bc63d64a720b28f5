//! Which lane comes first: ranks, fair shares of tenants, and aging.

pub mod calendar;
pub mod rank;
pub mod share;
