//! `run` and `inspect`: extensions around a message, without a page.

mod stage;

use super::person::Terminal;
use super::play::DIFFERS;
use crate::args::{InspectExtensions, RunExtensions, Session};
use crate::command::{Desk, print, tell};
use crate::printer;
use crate::watch::Stops;
use althing_hub::extensions::{
    self as hub, Answer, Answers, Document, Error, Level, Question, Recorder, Troupe, Voices,
    Window, record,
};
use althing_hub::service::Service;
use althing_stdx::text::{one_line, printable};
use althing_stdx::{Fault, Kind, Result};
use futures_util::future::BoxFuture;
use stage::{Stage, Target, Wanted, late};
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::timeout;

/// Bytes of an answers file and of a recording; a longer one is refused.
const ANSWERS_BYTES_MAX: u64 = 1 << 20;
const RECORDING_BYTES_MAX: u64 = 64 << 20;
/// Characters of a question that stayed open, where it is told.
const SHOWN_CHARS_MAX: usize = 200;

pub async fn run(desk: &Desk, args: RunExtensions) -> Result<()> {
    desk.warn();
    let troupe = Troupe::named(&desk.config, &desk.world, &args.extensions)?;
    if args.in_place && args.session.message.as_os_str() == "-" {
        return Err(Fault::invalid("--in-place: standard input is no place to write to"));
    }
    let target = match &args.output {
        Some(path) => Target::File(path),
        None if args.in_place => Target::InPlace(&args.session.message),
        None => Target::None,
    };
    let wanted = Wanted { commands: &args.command, target };
    let done = session(desk, &troupe, &args.session, wanted, None).await?;
    match target {
        Target::File(_) | Target::InPlace(_) => Ok(()),
        Target::None if std::io::stdout().is_terminal() => {
            print(&format!("{}\n", printable(&done.text().replace('\r', "\n"))))
        }
        // To the byte.
        Target::None => print(done.text()),
    }
}

pub async fn inspect(desk: &Desk, args: InspectExtensions) -> Result<()> {
    desk.warn();
    if let Some(recording) = &args.replay {
        return play_again(desk, recording, &args.session).await;
    }
    let troupe = Troupe::named(&desk.config, &desk.world, &args.extensions)?;
    let recorder: Recorder = Arc::new(|line| {
        let line = serde_json::to_string(line).expect("a line is JSON");
        printer::print(line + "\n");
    });
    let wanted = Wanted { commands: &args.command, target: Target::None };
    session(desk, &troupe, &args.session, wanted, Some(recorder)).await.map(drop)
}

/// Runs the host again, with a recording in the place of the extension.
async fn play_again(desk: &Desk, recording: &Path, args: &Session) -> Result<()> {
    let lines = read_recording(recording)?;
    let commands: Vec<String> = lines.iter().filter_map(command_of).collect();
    let program = std::env::current_exe().map_err(Fault::internal)?;
    let file = std::path::absolute(recording).map_err(Fault::internal)?;
    let mut troupe = Troupe::named(&desk.config, &desk.world, &["recorded /".into()])?;
    let member = troupe.members.first_mut().expect("one was named");
    member.entry.path = program.to_string_lossy().into_owned();
    let words = ["extensions", "play", &file.to_string_lossy()].map(String::from);
    member.entry.args = words.to_vec();
    let wanted = Wanted { commands: &commands, target: Target::None };
    session(desk, &troupe, args, wanted, None).await.map(drop)?;
    print("The host says what it said.\n")
}

fn command_of(line: &record::Line) -> Option<String> {
    let is_command = line.from == record::From::Host && line.message["method"] == "command/execute";
    is_command.then(|| line.message["params"]["command"].as_str().map(String::from))?
}

/// The messages of one extension; a recording of several is refused.
pub fn read_recording(path: &Path) -> Result<Vec<record::Line>> {
    let text = read(path, RECORDING_BYTES_MAX)?;
    let wrong = |why: String| Fault::invalid(format!("{}: {why}", path.display()));
    let lines = record::read(&text).map_err(wrong)?;
    let first = lines.first().ok_or_else(|| wrong("there is nothing in it".into()))?;
    match lines.iter().all(|line| line.extension == first.extension) {
        true => Ok(lines),
        false => Err(wrong("it has several extensions; record one alone to play it".into())),
    }
}

fn read(path: &Path, bytes_max: u64) -> Result<String> {
    let shown = path.display();
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(bytes_max + 1).read_to_string(&mut text))
        .map_err(|error| Fault::new(Kind::NotFound, format!("{shown}: {error}")))?;
    match text.len() as u64 > bytes_max {
        true => Err(Fault::invalid(format!("{shown}: more than {bytes_max} bytes"))),
        false => Ok(text),
    }
}

/// Starts, runs the commands, and ends everything, whatever happens.
async fn session(
    desk: &Desk,
    troupe: &Troupe,
    args: &Session,
    wanted: Wanted<'_>,
    recorder: Option<Recorder>,
) -> Result<Document> {
    let document = hub::open(&args.message)?;
    let person = Arc::new(Person::new(args, desk)?);
    let wants_models =
        troupe.members.iter().any(|it| it.entry.grants.contains(&hub::Grant::Models));
    let service = match wants_models {
        true => Some(Service::over(desk.library_to_read().await?).await?),
        false => None,
    };
    let models = service.as_ref().map(|it| Arc::new(Voices(Arc::downgrade(it))) as _);
    let (screen, verbose) = (desk.screen, args.verbose);
    let differences = Arc::new(AtomicUsize::new(0));
    let counted = differences.clone();
    let heard: hub::LogSink = Arc::new(move |name, line| {
        counted.fetch_add(line.text.starts_with(DIFFERS) as usize, Ordering::Relaxed);
        if verbose || line.level > Level::Info {
            tell(screen, &format!("{name}: {}: {}", hub::level_name(line.level), line.text));
        }
    });
    let mut stops = Stops::new()?;
    let host = troupe.start(document, person.clone(), models, recorder, Some(heard));
    let stage = Stage { host: &host, troupe, person: &person, settle: args.settle };
    let work = timeout(args.timeout, stage.work(wanted));
    let done = tokio::select! {
        done = work => done.unwrap_or_else(|_| Err(Fault::new(Kind::TimedOut, late(args, &host)))),
        () = stops.next() => Err(Fault::new(Kind::Cancelled, "stopped")),
    };
    tokio::select! {
        () = host.stop() => {}
        // Asked twice: the host kills what is left when it is dropped.
        () = stops.next() => {}
    }
    let document = host.document();
    drop(host);
    if let Some(service) = service {
        service.close().await?;
    }
    match done {
        Err(fault) if fault.kind != Kind::Upstream => return Err(fault),
        // An extension may have failed because nobody answered, and answers may be left because it failed.
        done => person.is_answered().and(done).and_then(|()| person.has_none_left())?,
    }
    match differences.load(Ordering::Relaxed) {
        0 => Ok(document),
        count => {
            let text = format!("the host differs from the recording {count} times, told above");
            Err(Fault::new(Kind::Upstream, text))
        }
    }
}

/// Who answers, and what stayed without an answer.
struct Person {
    answers: Either,
    open: Mutex<Option<String>>,
}

enum Either {
    Prepared(Answers),
    Asked(Terminal),
}

impl Person {
    fn new(args: &Session, desk: &Desk) -> Result<Person> {
        let answers = match &args.answers {
            None => Either::Asked(Terminal::new(desk.screen)),
            Some(path) => {
                let text = read(path, ANSWERS_BYTES_MAX)?;
                let wrong = |error: Error| {
                    Fault::invalid(format!("--answers: {}: {}", path.display(), error.message))
                };
                Either::Prepared(Answers::read(&text).map_err(wrong)?)
            }
        };
        Ok(Person { answers, open: Mutex::new(None) })
    }

    fn desk(&self) -> &dyn hub::Desk {
        match &self.answers {
            Either::Prepared(answers) => answers,
            Either::Asked(terminal) => terminal,
        }
    }

    /// A question without an answer is no success, whatever the extension made of it.
    fn is_answered(&self) -> Result<()> {
        match &*self.open.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(what) => Err(Fault::invalid(one_line(what, SHOWN_CHARS_MAX))),
            None => Ok(()),
        }
    }

    /// Nor is an answer to what nobody asked.
    fn has_none_left(&self) -> Result<()> {
        let Either::Prepared(answers) = &self.answers else { return Ok(()) };
        let left = answers.left();
        if left.is_empty() {
            return Ok(());
        }
        let (count, left) = (left.len(), one_line(&left.join(", "), SHOWN_CHARS_MAX));
        Err(Fault::invalid(format!("--answers: nobody asked for {count} of them: {left}")))
    }
}

impl hub::Desk for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        Box::pin(async {
            let answered = self.desk().ask(question).await;
            if let Err(error) = &answered {
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.get_or_insert(error.message.clone());
            }
            answered
        })
    }

    fn open(&self, window: &Window) -> Result<(), Error> {
        self.desk().open(window)
    }

    fn close(&self, id: &str) {
        self.desk().close(id);
    }
}
