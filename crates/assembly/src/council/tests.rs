//! The whole course on a paused clock, with scripted planners and judges.

mod course;
pub(crate) mod kit;
mod resume;
mod windows;
