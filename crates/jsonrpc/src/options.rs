//! What a connection allows and how it behaves.

use std::time::Duration;

/// How a connection behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much of everything.
    pub limits: Limits,
    /// What happens at the limits.
    pub when_full: WhenFull,
    /// What becomes of running requests when the other side has nothing more to say.
    pub on_eof: OnEof,
    /// Which failures without an id are answered.
    pub null_id: NullId,
    /// Answers a frame that cannot be read by the id that it seems to have, instead of by none. The
    /// other side learns sooner which of its requests is lost; JSON-RPC itself would have `null`.
    pub guess_ids: bool,
    /// Leaves `data` out of errors that have none, instead of writing `null`.
    pub omit_empty_data: bool,
    /// Gives a handler `null` for parameters that are missing or `null`, instead of an empty object.
    pub null_params: bool,
    /// Takes several messages that come as one array, and answers them with one array. Otherwise that
    /// is no message.
    pub batches: bool,
}

impl Options {
    /// For a side that only serves: its reader pauses when a client does not read, it finishes
    /// what was asked before the end, and it answers whatever fails.
    pub fn server() -> Options {
        Options {
            limits: Limits::default(),
            when_full: WhenFull::StopReading,
            on_eof: OnEof::FinishRequests,
            null_id: NullId::Always,
            guess_ids: false,
            omit_empty_data: false,
            null_params: false,
            batches: false,
        }
    }

    /// For two sides that call each other: nobody pauses, and nothing outlives the connection.
    pub fn peer() -> Options {
        Options {
            limits: Limits::default(),
            when_full: WhenFull::Refuse { outbox_bytes_hard_max: 4 * OUTBOX_BYTES_MAX },
            on_eof: OnEof::DropRequests,
            null_id: NullId::Never,
            guess_ids: true,
            omit_empty_data: true,
            null_params: false,
            batches: false,
        }
    }
}

const OUTBOX_BYTES_MAX: usize = 8 << 20;
const REQUESTS_BYTES_MAX: usize = 8 << 20;

/// How much of everything. The length of a frame is a matter of its framing.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests and notifications of the other side at work at a time, at least one; `WhenFull` says
    /// what happens to the next.
    pub requests_max: usize,
    /// Bytes of their parameters together; what happens beyond is the same. One request alone may
    /// have more, as much as its framing lets through.
    pub requests_bytes_max: usize,
    /// Calls of ours that wait for answers. One more is `CallError::TooMany`.
    pub calls_max: usize,
    /// Bytes that wait to be written. Beyond them calls, notifications and answers wait for room;
    /// a single longer message waits until it is alone.
    pub outbox_bytes_max: usize,
    /// Frames in a row that are no message. One more ends the connection with `Ended::Broken`.
    pub broken_max: usize,
    /// How long the other side may leave us waiting to write once it has left. Then what it was
    /// owed is dropped.
    pub flush_max: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests_max: 1024,
            requests_bytes_max: REQUESTS_BYTES_MAX,
            calls_max: 1024,
            outbox_bytes_max: OUTBOX_BYTES_MAX,
            broken_max: usize::MAX,
            flush_max: Duration::from_secs(1),
        }
    }
}

/// What the reader does when too many requests are at work or too many bytes wait to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// It takes nothing until there is room, and meanwhile sees no more than the end of the stream:
    /// of that it knows at once, unless more than 1 MiB comes before it. For a side that only
    /// serves: were both sides to pause, or handlers to call back, each could wait for the other
    /// for ever.
    StopReading,
    /// It never pauses. Too many requests are answered as busy, too many notifications dropped.
    /// Such answers do not wait for room; they may fill the outbox up to a second limit, beyond
    /// which the connection ends.
    Refuse {
        /// Bytes that may wait to be written before the connection ends with `Ended::OutboxFull`.
        outbox_bytes_hard_max: usize,
    },
}

/// What becomes of running requests when the other side has nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnEof {
    /// They are dropped, and so is what had to wait for them.
    DropRequests,
    /// They are finished and answered, however long that takes, as long as the other side reads.
    FinishRequests,
}

/// Which failures without an id are answered, with an error whose id is `null`; each value
/// includes the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NullId {
    /// None.
    Never,
    /// What cannot be read as a request: the rule of JSON-RPC 2.0.
    Unreadable,
    /// That, and notifications that fail: the rule of Quorum.
    Always,
}
