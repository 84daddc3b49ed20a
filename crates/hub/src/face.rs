//! Faces: thin translations between a protocol and the runs. They hold no logic of their own.

pub mod quorum;
