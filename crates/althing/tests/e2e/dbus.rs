//! The capability service on a real bus: `dbus-daemon`, driven by `busctl`, `gdbus` and dbus-next.

mod bus;
mod lives;
mod python;
mod requests;
mod shape;
mod streams;
mod tools;
