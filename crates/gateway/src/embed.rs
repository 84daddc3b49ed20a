//! Texts as vectors, where a provider has them.
