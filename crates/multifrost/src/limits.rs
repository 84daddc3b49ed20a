//! The limits of this crate, each with what happens there.

use std::time::Duration;

/// A message, both ways: a longer one of ours is an error at once, a longer one of theirs ends the
/// connection.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Levels of arrays and maps in a value; a deeper one is malformed.
pub const DEPTH_MAX: usize = 256;
/// Calls of a parent that wait for their answer; a further one waits for a place.
pub const PENDING_CALLS_MAX: usize = 1024;
/// Calls of one [`crate::Parent::call_each`] that are on their way; a further one is sent
/// when the first of them is answered.
pub const EACH_CALLS_MAX: usize = 100;
/// How long a call may take where nothing else is said; then it is given up.
pub const CALL_MAX: Duration = Duration::from_secs(60);
/// Bytes of the calls of one connection that a child keeps for later. With more, the child reads
/// nothing of this connection, heartbeats included, until half of them have begun.
pub const WAITING_BYTES_MAX: usize = 64 << 20;
/// What such a call counts beside its message.
pub const WAITING_CALL_BYTES: usize = 512;
/// Streams of one connection that wait for their caller to read, each on a thread of its own while
/// others' calls run; with so many no further call of this connection begins.
pub const STALLED_STREAMS_MAX: usize = 32;
/// Calls that a child may be told to run at once.
pub const CONCURRENCY_MAX: usize = 1024;
/// Items of a stream that its caller has not taken yet; the child waits before it sends a further
/// one. A caller that gets more all the same ends the stream with an error.
pub const STREAM_ITEMS_MAX: usize = 256;
/// Bytes of such items; one item is always allowed, and then the child waits as above.
pub const STREAM_BYTES_MAX: usize = 1 << 20;
/// Lines of standard error that are kept to explain a crash; older ones go.
pub const STDERR_LINES_MAX: usize = 20;
/// A line of output; a longer one is told in pieces.
pub const OUTPUT_LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes of output that [`crate::parent::Options::output`] has not been told yet; further lines are
/// left out, and then it is told how many.
pub const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// How long a service is looked for at first, where nothing else is said; then there is none.
pub const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The steps of a stop are a message, TERM and KILL: how long each may take before the next.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// The same where the last handle is dropped, which must not wait long.
pub const DROP_GRACE: Duration = Duration::from_millis(250);
/// When a connection ends, the process has probably ended too, and how it did is the better reason: it
/// is waited for so long.
pub const EXIT_MAX: Duration = Duration::from_millis(500);
/// How long the last words of a dead process are waited for, and their being told: a process that left
/// its group may hold the pipe open. Then the rest is told later, or not at all.
pub const LAST_WORDS_MAX: Duration = Duration::from_millis(500);
/// How long the locks of the registry are waited for, which is longer than one can be stale; then the
/// registration fails.
pub const REGISTRY_LOCK_MAX: Duration = Duration::from_secs(20);
/// A registry that is longer counts as broken.
pub const REGISTRY_BYTES_MAX: u64 = 16 << 20;

/// Frames of a message, of which only the second is read; more end the connection.
pub const FRAMES_MAX: usize = 64;
/// A command of ZMTP; a longer one ends the connection.
pub const COMMAND_BYTES_MAX: usize = 1024;
/// Bytes that wait for a slow reader. Then a parent that sends calls waits, and a child begins no
/// further call of that connection; the answers of those that run are added all the same.
pub const QUEUE_BYTES_MAX: usize = 8 << 20;
/// Connections of a listening socket at once; a further one is closed at once.
pub const CONNECTIONS_MAX: usize = 256;
/// From the connection to READY; then the connection ends.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Between two attempts to connect.
pub const CONNECT_PAUSE: Duration = Duration::from_millis(100);
/// How long a child tries to reach its parent; then it ends.
pub const PARENT_MAX: Duration = Duration::from_secs(30);
/// How long a closing connection may take to send the rest, and a handle at its end to tell what the
/// worker has printed; then the rest is lost.
pub const LINGER_MAX: Duration = Duration::from_secs(1);
/// How long an answer waits for a parent that does not read; then its connection ends. An item of
/// a stream waits as long for its caller to take others; then the stream ends with an error.
pub const ANSWER_MAX: Duration = Duration::from_secs(600);
