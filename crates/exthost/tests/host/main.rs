//! The host with real extensions: processes of other languages, good ones and bad ones.

mod bad;
mod good;
mod kit;
mod peers;
mod rules;
