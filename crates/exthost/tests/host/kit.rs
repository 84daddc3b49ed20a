//! A host around the example extensions, and a person who says what a test told them.

use althing_exthost::desk::{Answer, Ask, Desk, Question};
use althing_exthost::document::{Document, Form};
use althing_exthost::record::{Line, Recorder};
use althing_exthost::{Entry, Error, Host, Setup, State, Window};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

/// What no wait of these tests may take: twenty times the longest ending of an extension.
const HANG: Duration = Duration::from_secs(120);
/// How often a test looks again.
const LOOK: Duration = Duration::from_millis(10);

pub const MESSAGE: &str = "MSH|^~\\&|A|B\rPID|1||123||MÜLLER^ZOË\r";

/// Says yes to everything, picks what was prepared, and lets a question wait if told to.
#[derive(Default)]
pub struct Person {
    pub asked: Mutex<Vec<Question>>,
    pub opened: Mutex<Vec<Window>>,
    pub closed: Mutex<Vec<String>>,
    /// While this is held, no dialogue is answered.
    pub busy: tokio::sync::RwLock<()>,
}

impl Desk for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, Error>> {
        let ask = question.ask.clone();
        self.asked.lock().unwrap().push(question);
        async move {
            let _free = self.busy.read().await;
            Ok(match ask {
                Ask::Message { .. } => Answer::Read,
                Ask::Confirm { .. } => Answer::Confirmed(true),
                Ask::Files { title, .. } if title.as_deref() == Some("Save") => {
                    Answer::Picked(None)
                }
                Ask::Files { title, .. } => {
                    let name = title.unwrap_or_default();
                    Answer::Picked(Some(vec![format!("/a/{name}"), "/b".into()]))
                }
            })
        }
        .boxed()
    }

    fn open(&self, window: &Window) -> Result<(), Error> {
        self.opened.lock().unwrap().push(window.clone());
        Ok(())
    }

    fn close(&self, id: &str) {
        self.closed.lock().unwrap().push(id.into());
    }
}

/// A host that runs, and all that a test needs to look at.
pub struct Bench {
    pub host: Option<Host>,
    pub person: Arc<Person>,
    pub traffic: Arc<Mutex<Vec<Line>>>,
    pub folder: tempfile::TempDir,
    /// Stands in the environment of every process that an extension starts.
    mark: String,
    /// Processes of extensions that a test has seen alive.
    seen: Mutex<BTreeSet<String>>,
}

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions")
}

/// An example by its file and arguments.
pub fn example(words: &[&str]) -> Entry {
    let program = match words[0].rsplit_once('.').map(|(_, ending)| ending) {
        Some("py") => "python3",
        Some("mjs") => "node",
        _ => "perl",
    };
    let file = examples().join(words[0]).to_string_lossy().into_owned();
    let rest = words[1..].iter().map(|word| word.to_string());
    Entry { args: [file].into_iter().chain(rest).collect(), ..Entry::new(program) }
}

impl Bench {
    pub fn new(entries: Vec<Entry>) -> Bench {
        Bench::with(entries, |_| {})
    }

    pub fn with(mut entries: Vec<Entry>, change: impl FnOnce(&mut Setup)) -> Bench {
        let mark = format!("{:016x}", fastrand::u64(..));
        for entry in &mut entries {
            entry.env.insert("EXTHOST_TEST_MARK".into(), mark.clone());
        }
        let folder = tempfile::tempdir().unwrap();
        let person = Arc::<Person>::default();
        let document = Document::new(Form::Hl7, MESSAGE);
        let mut setup =
            Setup::new(entries, document, person.clone(), folder.path().join("data/extensions"));
        let traffic = Arc::<Mutex<Vec<Line>>>::default();
        let lines = traffic.clone();
        let recorder: Recorder = Arc::new(move |line| lines.lock().unwrap().push(line.clone()));
        setup.recorder = Some(recorder);
        change(&mut setup);
        let (host, seen) = (Some(Host::start(setup)), Mutex::default());
        Bench { host, person, traffic, folder, mark, seen }
    }

    pub fn host(&self) -> &Host {
        self.host.as_ref().unwrap()
    }

    /// Waits until all run or have failed.
    pub async fn settled(&self) {
        within(self.host().settled(), "to settle").await;
        self.seen.lock().unwrap().extend(self.alive());
    }

    pub fn state(&self, at: usize) -> State {
        self.host().extensions()[at].state.clone()
    }

    pub fn id(&self, at: usize) -> String {
        self.host().extensions()[at].id.clone()
    }

    /// The log of one, a line each.
    pub fn log(&self, at: usize) -> String {
        let lines = self.host().log(&self.id(at));
        lines.iter().map(|line| format!("{:?} {}\n", line.level, line.text)).collect()
    }

    /// Looks again and again until it is so.
    pub async fn until(&self, what: &str, mut is_so: impl FnMut(&Bench) -> bool) {
        let looking = async {
            while !is_so(self) {
                tokio::time::sleep(LOOK).await;
            }
        };
        if timeout(HANG, looking).await.is_err() {
            let states: Vec<_> = self.host().extensions().into_iter().map(|it| it.state).collect();
            panic!("waited for: {what}; states {states:?}; log of 0:\n{}", self.log(0));
        }
    }

    pub async fn until_logged(&self, at: usize, what: &str) {
        self.until(what, |bench| bench.log(at).contains(what)).await;
    }

    pub async fn until_text(&self, what: &str) {
        self.until(what, |bench| bench.text().contains(what)).await;
    }

    pub fn text(&self) -> String {
        self.host().document().text().to_string()
    }

    /// Ends the host; no process may be left.
    pub async fn stop(mut self) -> Vec<Line> {
        within(self.host.take().unwrap().stop(), "to stop").await;
        self.nobody_is_left().await;
        std::mem::take(&mut *self.traffic.lock().unwrap())
    }

    /// No process of any extension is there, and none waits to be reaped.
    pub async fn nobody_is_left(&self) {
        let left = || (self.alive(), self.zombies());
        let looking = async {
            while left() != Default::default() {
                tokio::time::sleep(LOOK).await;
            }
        };
        // A killed process is there until the system has cleaned it up.
        let gone = timeout(Duration::from_secs(10), looking).await;
        assert!(gone.is_ok(), "still there, alive or dead: {:?}", left());
    }

    /// Processes with our mark in their environment.
    fn alive(&self) -> Vec<String> {
        let mark = format!("EXTHOST_TEST_MARK={}", self.mark);
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let marked = processes.filter(|process| {
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        });
        marked.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Children of ours that have ended, and that nobody has reaped. They have no environment left.
    fn zombies(&self) -> Vec<String> {
        let zombie = format!(") Z {} ", std::process::id());
        let is_one = |process: &&String| {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
            stat.is_ok_and(|stat| stat.contains(&zombie))
        };
        self.seen.lock().unwrap().iter().filter(is_one).cloned().collect()
    }
}

async fn within(work: impl Future<Output = ()>, what: &str) {
    assert!(timeout(HANG, work).await.is_ok(), "it hangs: {what}");
}
