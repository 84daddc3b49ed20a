//! Every route and every mishap once through a bare hyper client. Expectations are transcripts in
//! `testdata`, rewritten by `UPDATE_EXPECT=1`.

mod client;
mod lifetime;
mod transcripts;
