//! Requests in, answers out, as data.

mod reads;
mod writes;
