//! The capability service on a real bus: `dbus-daemon`, driven by `busctl`, `gdbus` and dbus-next.

mod bus;
mod everywhere;
mod lives;
mod logins;
mod python;
mod requests;
mod shape;
mod streams;
mod tools;
