//! The capability service on a real bus: `dbus-daemon`, driven by `busctl`, `gdbus` and dbus-next.

pub mod bus;
mod everywhere;
mod install;
mod lives;
mod logins;
mod lost;
mod person;
mod python;
mod requests;
mod shape;
mod streams;
mod tools;
mod types;
