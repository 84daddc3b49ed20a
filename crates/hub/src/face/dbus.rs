//! The capability service on the session bus.
