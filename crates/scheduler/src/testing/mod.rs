//! What tests ask for: mechanisms that are left out, and panics in the middle of a step.

#[cfg(feature = "faults")]
pub mod faults;
#[cfg(not(feature = "faults"))]
pub(crate) mod faults;
#[cfg(feature = "fault_injection")]
pub mod injection;
