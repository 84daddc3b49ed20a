//! What a parent can be told.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::NAMESPACE;
#[cfg(doc)]
use crate::limits::OUTPUT_BYTES_MAX;
use crate::limits::{CALL_MAX, CONNECT_MAX, MESSAGE_BYTES_MAX, PENDING_CALLS_MAX};
use crate::registry::Registry;
use crate::socket::LOOPBACK;
use crate::token::Token;

/// How a parent treats its worker.
#[derive(Clone)]
pub struct Options {
    /// The namespace of its calls.
    pub namespace: String,
    /// How long a call may take.
    pub call_max: Duration,
    /// How many calls may be pending; a further one waits.
    pub pending_calls_max: usize,
    /// The longest message, both ways.
    pub message_bytes_max: usize,
    /// Whether a worker that ends is started again.
    pub restart: Option<Restart>,
    /// Whether a worker that was spawned is asked for signs of life.
    pub heartbeat: Option<Heartbeat>,
    /// What is done with what the worker prints: called on a thread of its own, so that however long
    /// it takes no answer waits for it, nor does it wait for answers. Of more than
    /// [`OUTPUT_BYTES_MAX`] that it was not told yet lines are left out, and it is told how many.
    pub output: Arc<dyn Fn(Output<'_>) + Send + Sync>,
    /// Where a spawning parent listens. Anything but the loopback address lets others in,
    /// unauthenticated; a warning is printed then.
    pub ip: IpAddr,
    /// Whether only processes of the group that was started may connect, on the loopback address and
    /// where the system tells whose a connection is (Linux). Without it whoever knows the port and is
    /// first gets the calls; it is for a program that starts its worker elsewhere, as in a container.
    pub is_worker_checked: bool,
    /// What calls carry where the worker wants it. A spawned worker is given it by its environment;
    /// where none is given, one is made.
    pub token: Option<Token>,
    /// Where services are looked for; in the person's own registry if none is given.
    pub registry: Option<Registry>,
    /// How long a service is looked for at first.
    pub connect_max: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            namespace: NAMESPACE.into(),
            call_max: CALL_MAX,
            pending_calls_max: PENDING_CALLS_MAX,
            message_bytes_max: MESSAGE_BYTES_MAX,
            restart: None,
            heartbeat: Some(Heartbeat::default()),
            output: Arc::new(print),
            ip: LOOPBACK,
            is_worker_checked: true,
            token: None,
            registry: None,
            connect_max: CONNECT_MAX,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Options");
        debug.field("namespace", &self.namespace).field("call_max", &self.call_max);
        debug.field("restart", &self.restart).field("ip", &self.ip).finish_non_exhaustive()
    }
}

/// A worker that ends is started again, each time after twice the pause.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    /// How often in a row; then the parent is at its end too.
    pub attempts_max: u32,
    /// Before the first.
    pub pause: Duration,
    /// The longest.
    pub pause_max: Duration,
    /// A worker that has lived so long is sound: the count begins anew.
    pub sound_after: Duration,
}

impl Default for Restart {
    fn default() -> Restart {
        Restart {
            attempts_max: 5,
            pause: Duration::from_millis(100),
            pause_max: Duration::from_secs(10),
            sound_after: Duration::from_secs(60),
        }
    }
}

impl Restart {
    /// Before the attempt after `attempts`.
    pub(super) fn pause_after(&self, attempts: u32) -> Duration {
        self.pause.saturating_mul(1 << attempts.min(16)).min(self.pause_max)
    }
}

/// Signs of life, as the other libraries ask for them.
#[derive(Debug, Clone, Copy)]
pub struct Heartbeat {
    /// Before the first.
    pub first: Duration,
    /// From one to the next.
    pub interval: Duration,
    /// How long one may take.
    pub max: Duration,
    /// So many without an answer mean that the worker hangs. With [`Options::restart`] it is then
    /// killed, unless a call is pending: that may be what it is busy with.
    pub misses_max: u32,
}

impl Default for Heartbeat {
    fn default() -> Heartbeat {
        Heartbeat {
            first: Duration::from_secs(1),
            interval: Duration::from_secs(5),
            max: Duration::from_secs(3),
            misses_max: 3,
        }
    }
}

/// What one call is told beside its arguments.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Instead of [`Options::call_max`].
    pub timeout: Option<Duration>,
    /// Instead of [`Options::namespace`].
    pub namespace: Option<String>,
    /// Who calls; workers do not use it today.
    pub client_name: Option<String>,
}

/// A piece of what a worker printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output<'a> {
    /// The script, program or service.
    pub worker: &'a str,
    /// Where it was printed to.
    pub stream: Stream,
    /// What, without the end of the line.
    pub text: &'a str,
}

/// Where a worker prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl fmt::Display for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = if self.stream == Stream::Out { "STDOUT" } else { "STDERR" };
        write!(f, "[{} {stream}]: {}", self.worker, self.text)
    }
}

/// To where this process prints.
fn print(output: Output<'_>) {
    // Output that nobody takes is no reason to fail.
    let _ = match output.stream {
        Stream::Out => writeln!(io::stdout().lock(), "{output}"),
        Stream::Err => writeln!(io::stderr().lock(), "{output}"),
    };
}

#[cfg(test)]
#[test]
fn s14_4_output_is_labelled() {
    let output = |stream| Output { worker: "calc.py", stream, text: "hello" }.to_string();
    assert_eq!(output(Stream::Out), "[calc.py STDOUT]: hello");
    assert_eq!(output(Stream::Err), "[calc.py STDERR]: hello");
}

#[cfg(test)]
#[test]
fn s8_10_pauses_grow_to_a_limit() {
    let restart = Restart::default();
    let pauses = [0, 1, 2, 6, 7, u32::MAX].map(|it| restart.pause_after(it).as_millis());
    assert_eq!(pauses, [100, 200, 400, 6400, 10_000, 10_000]);
}

#[cfg(test)]
#[test]
fn s18_2_a_parent_listens_on_this_machine_only_unless_told_otherwise() {
    assert!(Options::default().ip.is_loopback());
}

#[cfg(test)]
#[test]
fn s38_1_heartbeats_are_those_of_the_other_libraries() {
    let Heartbeat { first, interval, max, misses_max } = Options::default().heartbeat.unwrap();
    let seconds = [first, interval, max].map(|it| it.as_secs_f64());
    assert_eq!((seconds, misses_max), ([1.0, 5.0, 3.0], 3));
}
