//! Requests that go through as they came: the client and the server speak the same dialect.
