//! Keys at rest: one encrypted file whose key lies elsewhere.
