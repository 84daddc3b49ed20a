//! A whole peer over a stream in memory.

mod batches;
mod broken;
mod calls;
mod ends;
mod kit;
mod limits;
mod order;
mod transcripts;
