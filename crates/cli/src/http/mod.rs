//! Parts of HTTP that stand alone: what `dispatch` sends and what the callbacks prove themselves with.

pub mod token;
