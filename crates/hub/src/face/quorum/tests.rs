//! The face as its frontends see it: whole conversations as text files, and tables of what is
//! refused.

mod advisor;
mod endings;
mod gaps;
mod kit;
mod limits;
mod lines;
mod models;
mod original;
mod state;
mod transcripts;
