//! What pages are made of: functions that turn plain data into markup. They know nothing of SQL or HTTP.
//!
//! All text is escaped where it is written. A policy for content forbids styles and scripts within pages, so what has a size or a color gets
//! attributes of SVG and classes of `static/style.css`.

pub mod badge;
pub mod bar;
pub mod chart;
pub mod form;
pub mod icon;
pub mod json;
pub mod layout;
pub mod note;
pub mod number;
pub mod parts;
pub mod stat;
pub mod table;
pub mod tabs;
pub mod time;
pub mod timeline;
pub mod tone;

#[cfg(test)]
mod escaping;
