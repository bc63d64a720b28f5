//! Samples: the entries of the calendar that tells when positions were drawn. See `order::calendar`.

/// Positions from here on were not known before that time, in microseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub position: i64,
    pub time: i64,
}
