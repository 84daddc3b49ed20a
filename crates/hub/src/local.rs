//! Models in files on this machine: a supervised runner process per file.
