//! What tests ask for: mechanisms that are left out, panics in the middle of a step, and looks at what no caller needs.

#[cfg(feature = "faults")]
pub mod faults;
#[cfg(not(feature = "faults"))]
pub(crate) mod faults;
#[cfg(feature = "fault_injection")]
pub mod injection;
pub mod probes;
