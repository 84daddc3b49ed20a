//! End to end: the real binary against real sockets, real files and a real peer. One binary, so
//! that it is linked once.

mod ask;
mod faults;
mod harness;
mod kill;
mod litellm;
mod person;
mod resume;
