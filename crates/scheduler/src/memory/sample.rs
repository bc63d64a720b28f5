//! Samples: the entries of the calendar that tells when positions were drawn. See `order::calendar`.

/// Neither this position nor a later one was known before this time, in microseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub position: i64,
    pub time: i64,
}
