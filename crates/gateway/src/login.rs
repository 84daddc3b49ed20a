//! Logins by the device flow (RFC 8628), as the providers really do it.
