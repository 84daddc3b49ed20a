//! Everything that is printed. A thread writes it, so a reader who does not read holds up nothing else:
//! limits of time, signals and the ends of agents come as always.

use crate::watch::Stops;
use althing_stdx::{Fault, Kind, Result};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::watch;

/// Bytes that may wait for the reader before what is streamed waits too.
const QUEUE_BYTES_MAX: usize = 256 << 10;
/// Bytes that wait at most, whoever prints them; a text that comes then is left out, and that is told
/// at the end. A text of any size fits where nothing waits.
const HELD_BYTES_MAX: usize = 16 << 20;
/// Bytes of one write: what is taken is only known after each.
const WRITE_BYTES: usize = 8 << 10;
/// How long a reader who takes nothing is waited for where there is no whole answer to read: what was
/// stopped, what failed, and what is only told beside.
pub const UNREAD_MAX: Duration = Duration::from_secs(2);
/// When a pipe that somebody else made non-blocking is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// One thread, and what waits for it.
struct Printer {
    queue: Sender<Piece>,
    state: Arc<watch::Sender<State>>,
}

enum Piece {
    Text(Stream, String),
    /// Answered when all before it is written.
    Mark(SyncSender<()>),
}

#[derive(Debug, Default)]
struct State {
    waiting_bytes: usize,
    taken_bytes: u64,
    left_out_bytes: usize,
    /// Why standard output takes nothing more.
    failure: Option<(ErrorKind, String)>,
    is_given_up: bool,
}

static OUT: LazyLock<Printer> = LazyLock::new(Printer::start);
static ERR: LazyLock<Printer> = LazyLock::new(Printer::start);

/// Both outputs have one printer where they are one place, such as a terminal: there the order counts.
fn printer(stream: Stream) -> &'static Printer {
    static IS_ONE_PLACE: LazyLock<bool> = LazyLock::new(|| {
        let place = |stream| {
            let about = open(stream).and_then(|file| file.metadata()).ok()?;
            Some((about.dev(), about.ino()))
        };
        place(Stream::Out).is_some_and(|out| place(Stream::Err) == Some(out))
    });
    if stream == Stream::Err && !*IS_ONE_PLACE { &ERR } else { &OUT }
}

/// Prints on standard output as soon as its reader takes it. What could not be written is known at the
/// end, or from [`failed`].
pub fn print(text: impl Into<String>) {
    printer(Stream::Out).push(Stream::Out, text.into());
}

/// Tells the person something beside the output. Nobody left to tell is no failure.
pub fn tell(text: impl Into<String>) {
    printer(Stream::Err).push(Stream::Err, text.into());
}

/// Waits until what is streamed may go on: enough of it was taken, or nobody will take any more.
pub async fn wait_for_room() {
    let has_room =
        |it: &State| it.waiting_bytes < QUEUE_BYTES_MAX || it.failure.is_some() || it.is_given_up;
    OUT.wait_for(has_room).await;
}

/// Whether nothing waits to be written on standard output.
pub fn is_idle() -> bool {
    OUT.state.borrow().waiting_bytes == 0
}

/// Waits for standard output to fail; mostly for ever.
pub async fn failed() -> (ErrorKind, String) {
    OUT.wait_for(|it| it.failure.is_some()).await;
    OUT.failure().unwrap_or((ErrorKind::BrokenPipe, String::new()))
}

/// Waits until the reader has taken nothing for [`UNREAD_MAX`] of what waits on standard output.
pub async fn wait_until_unread() {
    OUT.wait_until_unread().await;
}

/// Drops what waits on standard output: nobody reads it.
pub fn give_up() {
    OUT.give_up();
}

/// Whether something was dropped since nobody read it.
pub fn is_given_up() -> bool {
    OUT.state.borrow().is_given_up
}

/// Writes what waits at the end of a command. The reader of a whole answer may take the time it wants,
/// but a signal ends that; otherwise one who takes nothing is left.
pub async fn finish(is_answer_whole: bool) -> Result<()> {
    let mut stops = Stops::since_run()?;
    tokio::select! {
        () = OUT.wait_for(State::is_settled) => {}
        () = OUT.wait_until_unread(), if !is_answer_whole => OUT.give_up(),
        () = stops.next() => {
            OUT.give_up();
            return Err(Fault::new(Kind::Cancelled, "stopped"));
        }
    }
    OUT.outcome()
}

/// Writes what is told beside the output, at the very end or before a question, for at most
/// [`UNREAD_MAX`]. Blocks.
pub fn finish_telling() {
    let (sender, written) = sync_channel(1);
    // A thread that is gone has written all it could, and a late one is left.
    let _ = printer(Stream::Err).queue.send(Piece::Mark(sender));
    let _ = written.recv_timeout(UNREAD_MAX);
}

/// Where nobody reads any more, as in `| head`, stopping is no failure; what could not be written is.
pub fn fault_of((kind, what): (ErrorKind, String)) -> Result<()> {
    match kind {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(Fault::internal(format!("standard output: {what}"))),
    }
}

impl State {
    fn is_settled(&self) -> bool {
        self.waiting_bytes == 0 || self.is_given_up
    }
}

impl Printer {
    fn start() -> Printer {
        let (queue, pieces) = channel();
        let state = Arc::new(watch::Sender::default());
        let shared = state.clone();
        let thread = std::thread::Builder::new().name("printer".into());
        if let Err(e) = thread.spawn(move || write_all(&pieces, &shared)) {
            state.send_modify(|it| it.failure = Some((e.kind(), e.to_string())));
        }
        Printer { queue, state }
    }

    fn push(&self, stream: Stream, text: String) {
        let bytes = text.len();
        let mut is_taken = false;
        self.state.send_if_modified(|it| {
            is_taken = it.waiting_bytes <= HELD_BYTES_MAX && !it.is_given_up && bytes > 0;
            if is_taken {
                it.waiting_bytes += bytes;
            } else {
                it.left_out_bytes += bytes;
            }
            false
        });
        if is_taken && self.queue.send(Piece::Text(stream, text)).is_err() {
            self.state.send_modify(|it| it.waiting_bytes -= bytes);
        }
    }

    async fn wait_for(&self, is_so: impl FnMut(&State) -> bool) {
        // Cannot fail: the sender lives in `self`.
        let _ = self.state.subscribe().wait_for(is_so).await;
    }

    async fn wait_until_unread(&self) {
        loop {
            self.wait_for(|it| it.waiting_bytes > 0).await;
            let before = self.state.borrow().taken_bytes;
            let taken = self.wait_for(|it| it.taken_bytes != before);
            if tokio::time::timeout(UNREAD_MAX, taken).await.is_err() {
                return;
            }
        }
    }

    fn give_up(&self) {
        self.state.send_modify(|it| it.is_given_up = true);
    }

    fn failure(&self) -> Option<(ErrorKind, String)> {
        self.state.borrow().failure.clone()
    }

    fn outcome(&self) -> Result<()> {
        let left_out = self.state.borrow().left_out_bytes;
        match (self.failure(), self.state.borrow().is_given_up, left_out) {
            (Some(failure), ..) => fault_of(failure),
            (None, false, 1..) => {
                let what = format!("it was read too slowly, so {left_out} bytes are left out");
                Err(Fault::internal(format!("standard output: {what}")))
            }
            _ => Ok(()),
        }
    }
}

/// A new handle for the place behind `stream`, without the buffer that the library keeps before it.
fn open(stream: Stream) -> io::Result<File> {
    let handle = match stream {
        Stream::Out => io::stdout().as_fd().try_clone_to_owned(),
        Stream::Err => io::stderr().as_fd().try_clone_to_owned(),
    };
    handle.map(File::from)
}

fn write_all(pieces: &Receiver<Piece>, state: &watch::Sender<State>) {
    let (mut out, mut err) = (open(Stream::Out), open(Stream::Err));
    for piece in pieces {
        match piece {
            Piece::Text(Stream::Out, text) => write(&mut out, Stream::Out, &text, state),
            Piece::Text(Stream::Err, text) => write(&mut err, Stream::Err, &text, state),
            // Who no longer waits is not told.
            Piece::Mark(written) => drop(written.try_send(())),
        }
    }
}

fn write(file: &mut io::Result<File>, stream: Stream, text: &str, state: &watch::Sender<State>) {
    for bytes in text.as_bytes().chunks(WRITE_BYTES) {
        let is_wanted = {
            let state = state.borrow();
            !state.is_given_up && (stream == Stream::Err || state.failure.is_none())
        };
        let done = match file {
            Ok(file) if is_wanted => write_piece(file, bytes),
            Err(e) if is_wanted => Err(io::Error::new(e.kind(), e.to_string())),
            _ => Ok(()),
        };
        state.send_modify(|it| {
            it.waiting_bytes -= bytes.len();
            it.taken_bytes += bytes.len() as u64;
            // Beside the output there is nobody to tell of it.
            if let (Err(e), Stream::Out) = (&done, stream) {
                it.failure = Some((e.kind(), e.to_string()));
            }
        });
    }
}

fn write_piece(file: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            #[expect(clippy::disallowed_methods, reason = "a thread of its own, no runtime")]
            Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(AGAIN),
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
