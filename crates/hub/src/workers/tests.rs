//! Workers as services in this process, and programs that are no workers.

mod life;

use super::*;
use crate::face::http;
use crate::service::Service as Service_;
use crate::service::words::{Caller, CompleteRequest};
use althing_chat::{Answer, Message, Tool};
use althing_stdx::redact::Secret;
use althing_testkit::Upstream;
use multifrost::Child;
use multifrost::child::{Failure, Service};
use serde_json::json;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

/// A home with a configuration, and the workers in it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn workers(&self, toml: &str) -> Arc<Workers> {
        let (config, world) = self.config(toml);
        Workers::new(&config, &world)
    }

    fn config(&self, toml: &str) -> (Config, World) {
        let file = self.path().join(".config/althing/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, toml).unwrap();
        let env = [("PATH".to_string(), "/usr/bin:/bin".to_string())].into();
        let world = World { env, cwd: self.path().into(), home: self.path().into() };
        let config = Config::load(&world);
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        (config, world)
    }

    /// A service that runs as long as the test's runtime.
    async fn serve(&self, name: &str, child: Child) {
        let registry = Registry::at(self.path().join(REGISTRY));
        let service = Service { registry: Some(registry.clone()), ..Service::new(name) };
        tokio::spawn(child.service(service).run_async());
        while registry.find(name).is_none() {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn calc() -> Child {
    let described = r#"[
        {"name": "sub", "description": "a - b", "parameters": {"type": "object",
         "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
         "required": ["a", "b"]}},
        {"name": "div", "parameters": {"properties": {"a": {}, "b": {}}}}
    ]"#;
    Child::new()
        .function("describe", move |(): ()| {
            Ok(serde_json::from_str::<Value>(described).expect("JSON"))
        })
        .function("sub", |(a, b): (i64, i64)| Ok(a - b))
        .function("div", |(_, _): (i64, i64)| {
            let text = "by zero\nTraceback (most recent call last):\n  secret/place.py";
            Err::<i64, Failure>(Failure::new("ZeroDivisionError", text))
        })
        .function("complete", |(messages,): (Value,)| {
            Ok(format!(
                "{} said {}",
                messages.as_array().map_or(0, Vec::len),
                messages[0]["content"]
            ))
        })
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_offers_what_it_describes() {
    let home = Home::new();
    home.serve("math-service", calc()).await;
    let workers = home.workers("[workers.calc]\nservice = 'math-service'\n");
    let offer = workers.offer().await;
    assert_eq!(offer.troubles(), [] as [&str; 0]);
    assert_eq!(offer.names(), ["calc_sub", "calc_div"]);
    assert_eq!(offer.tools()[0].description, "a - b");
    assert_eq!(offer.call("calc_sub", object(json!({"b": 2, "a": 5}))).await.unwrap(), "3");
    let failed = offer.call("calc_div", object(json!({"a": 1, "b": 0}))).await.unwrap_err();
    assert!(failed.message.contains("ZeroDivisionError: by zero"), "{failed}");
    assert!(!failed.message.contains("secret"), "the traceback is for the log: {failed}");
    let missing = offer.call("calc_sub", object(json!({"a": 5}))).await.unwrap_err();
    assert_eq!(missing.message, "arguments: 'b' is missing");
    let unknown = offer.call("calc_pow", object(json!({}))).await.unwrap_err();
    assert!(unknown.message.contains("there are: calc_sub, calc_div"), "{unknown}");
    let log = workers.logs(Some("calc"), 10).unwrap();
    assert!(log[0].1.iter().any(|line| line.text.contains("secret/place.py")), "{log:?}");
    let noted = |start: &str| {
        let is_so = |line: &&Line| line.from == "althing" && line.text.starts_with(start);
        log[0].1.iter().filter(is_so).count()
    };
    assert_eq!([noted("sub answered after "), noted("div failed (upstream) after ")], [1, 1]);
    workers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_models_call_has_limits() {
    let home = Home::new();
    let names: Vec<Value> = (0..50).map(|n| json!({ "name": format!("f{n:02}") })).collect();
    let many = Child::new().function("describe", move |(): ()| Ok(names.clone()));
    let length = |(text,): (String,)| Ok(text.len());
    home.serve("many", many.function("f00", length)).await;
    let toml = ["a", "b", "c"].map(|name| format!("[workers.{name}]\nservice = 'many'\n"));
    let workers = home.workers(&toml.concat());
    let offer = workers.offer().await;
    assert_eq!(offer.troubles(), ["workers have 22 more functions than the 128 offered"]);
    assert_eq!((offer.names().len(), offer.names().last().unwrap().as_str()), (128, "c_f27"));

    let empty = json!({ "args": [""] }).to_string().len();
    let most = (256 << 10) - empty;
    for (bytes, expected) in [
        (most, Ok(most.to_string())),
        (most + 1, Err("arguments: 262145 bytes; at most 262144".to_string())),
    ] {
        let arguments = json!({ "args": ["x".repeat(bytes)] });
        let text = arguments.to_string();
        // As an agent calls it, and as a model does.
        let by_agent = offer.call("a_f00", object(arguments)).await;
        let by_model = tooled::Toolbox::call(offer.clone(), "a_f00".into(), text).await;
        for done in [by_agent, by_model] {
            assert_eq!(done.map_err(|fault| fault.message), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_describes_where_the_worker_does_not_and_says_what_is_offered() {
    let home = Home::new();
    let plain = || Child::new().function("add", |(a, b): (i64, i64)| Ok(a + b));
    home.serve("plain", plain().function("mul", |(a, b): (i64, i64)| Ok(a * b))).await;
    let names = |workers: Arc<Workers>| async move {
        let offer = workers.offer().await;
        [offer.names(), offer.troubles().to_vec()].concat()
    };
    let bare = home.workers("[workers.w]\nservice = 'plain'\n");
    let args = object(json!({"args": [2, 3]}));
    assert_eq!(bare.offer().await.call("w_mul", args).await.unwrap(), "6");
    assert_eq!(names(bare).await, ["w_add", "w_mul"]);
    let tools = "tools = [{ name = 'add', parameters = { properties = { b = {}, a = {} } } }]";
    let told = home.workers(&format!("[workers.w]\nservice = 'plain'\n{tools}\n"));
    assert_eq!(told.offer().await.tools()[0].parameters["properties"], json!({"b": {}, "a": {}}));
    assert_eq!(names(told).await, ["w_add"]);
    let only = home.workers("[workers.w]\nservice = 'plain'\nonly = ['mul']\n");
    assert_eq!(names(only).await, ["w_mul"]);
    let wrong = home.workers("[workers.w]\nservice = 'plain'\nonly = ['pow']\n");
    assert_eq!(
        names(wrong).await,
        ["worker 'w': only: the worker has no function 'pow'; change [workers.w]"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_says_why() {
    #[track_caller]
    fn check(troubles: &[String], parts: &[&str]) {
        let text = troubles.join("\n");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let home = Home::new();
    let workers = home.workers(
        "[workers.gone]\nservice = 'nobody'\n\
         [workers.missing]\nrun = './no-such-program'\n\
         [workers.dies]\nrun = ['sh', '-c', 'echo my last words: $PASS >&2; exit 3']\n\
         env = { PASS = 'open-sesame' }\n",
    );
    let offer = workers.offer().await;
    assert!(offer.names().is_empty());
    check(offer.troubles(), &["worker 'gone': no service 'nobody' is running"]);
    check(
        offer.troubles(),
        &[
            "worker 'missing': cannot start the worker",
            "no-such-program' in '",
            "; change `run` in [workers.missing]",
        ],
    );
    check(
        offer.troubles(),
        &["worker 'dies': the worker ended: exit status: 3", "my last words: …"],
    );
    assert_eq!(workers.find("nobody").unwrap_err().kind, Kind::NotFound);
    for (name, what, advice) in [
        ("gone", "no service 'nobody' is running", "start 'nobody', or change `service` in [work"),
        ("missing", "No such file", "change `run` in [workers.missing]"),
        ("dies", "exit status: 3: my last words: …", "see `althing workers logs dies`"),
    ] {
        let worker = workers.find(name).unwrap();
        let trouble = worker.trouble(&worker.functions().await.unwrap_err());
        check(&[trouble.what], &[what]);
        check(&[trouble.advice], &[advice]);
    }
    let lines = workers.logs(Some("dies"), 10).unwrap();
    assert!(lines[0].1.iter().any(|line| line.from == "err" && line.text == "my last words: …"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_is_called_by_its_name_and_a_worker_is_a_model() {
    let home = Home::new();
    home.serve("math-service", calc()).await;
    let toml = "[workers.calc]\nservice = 'math-service'\n[providers.calc]\nprovider = 'worker'\n";
    let (config, world) = home.config(toml);
    let workers = Workers::new(&config, &world);
    let done = workers.call("math-service", "sub", vec![json!(1), json!(2)], None).await;
    assert_eq!(done.unwrap(), json!(-1));
    let none = workers.call("calc", "pow", vec![], None).await.unwrap_err();
    assert_eq!(none.kind, Kind::NotFound, "{none}");
    let known = "worker 'calc': Function 'pow' not found; there are: complete, describe, div, sub";
    assert_eq!(none.message, known);
    let near = workers.call("calc", "subb", vec![], None).await.unwrap_err();
    assert_eq!(near.message, "worker 'calc': Function 'subb' not found; did you mean sub?");
    let endpoint = workers.endpoint().unwrap();
    let gateway = althing_gateway::Gateway::new(config.limits());
    let listed = gateway.list(&endpoint, Duration::from_secs(1)).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["calc"]);
    let speaking = gateway.model(&endpoint, "calc").speak(althing_chat::Ask::new("Hi.", "Well?"));
    assert_eq!(Answer::collect(speaking).await.unwrap().text, "2 said \"Hi.\"");
    let speaking = gateway.model(&endpoint, "none").speak(althing_chat::Ask::new("", "Well?"));
    assert_eq!(Answer::collect(speaking).await.unwrap_err().kind, Kind::UnknownModel);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_ask_for_tools_by_the_models_name() {
    let home = Home::new();
    home.serve("math-service", calc()).await;
    let upstream = Upstream::start(Default::default());
    let (_, mut world) = home.config("[workers.calc]\nservice = 'math-service'\n");
    world.env.insert("OPENAI_API_KEY".into(), "sk-test-0123456789abcdef".into());
    world.env.insert("OPENAI_BASE_URL".into(), format!("{}/v1", upstream.url()));
    let service = Service_::open(world).await.unwrap();
    let caller = Caller { connection: "c".into(), name: "test".into() };
    let request = |model: &str, tools: Vec<Tool>| CompleteRequest {
        model_id: model.into(),
        messages: vec![Message::user("5-2?")],
        tools,
        max_tokens: None,
        temperature: None,
    };
    let done = service.complete(&caller, request("openai:ada+tools", vec![])).await.unwrap();
    assert!(done.message.text.starts_with("This is answer 2 of ada"), "{done:?}");
    assert_eq!(done.answered_by, "openai:ada");
    let results: Vec<usize> = upstream.requests().iter().map(|seen| seen.results()).collect();
    assert_eq!(results, [0, 1]);
    // A program's own tools stay its own, and without the wish there are none.
    let own = Tool { name: "mine".into(), description: "m".into(), parameters: json!({}) };
    let done = service.complete(&caller, request("openai:bob+tools", vec![own])).await.unwrap();
    assert_eq!(done.message.tool_calls[0].name, "mine");
    service.complete(&caller, request("openai:cyd", vec![])).await.unwrap();
    let last = upstream.requests().pop().unwrap();
    assert!(last.model == "cyd" && last.body.get("tools").is_none());
    let voice = service.find_voice("openai:dan+tools", None).await.unwrap();
    let said = Answer::collect(voice.speak(althing_chat::Ask::new("", "5-2?"))).await.unwrap();
    assert!(said.text.starts_with("This is answer 2 of dan") && said.tool_calls.is_empty());
    over_http(&service, &upstream).await;
    service.close().await.unwrap();
}

/// The same over HTTP, where a name without the wish would pass through untouched.
async fn over_http(service: &Arc<Service_>, upstream: &Upstream) {
    let address = "127.0.0.1:0".parse().unwrap();
    let token = http::Token::new(Secret::new("a-token-of-the-tests-that-opens-it"));
    let options = http::Options { address, token, limits: http::Limits::default() };
    let stop = CancellationToken::new();
    let bound = http::serve(service.clone(), options, stop.clone()).await.unwrap();
    let ask = async |model: &str| {
        let body = json!({
            "model": model, "stream": true, "messages": [{ "role": "user", "content": "5-2?" }],
        });
        let (body, host) = (body.to_string(), bound.address());
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             authorization: Bearer a-token-of-the-tests-that-opens-it\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut socket = TcpStream::connect(host).await.unwrap();
        socket.write_all((head + &body).as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let tooled = ask("openai:eve+tools").await;
    assert!(tooled.contains(": calls calc_sub\n") && tooled.contains("[DONE]"), "{tooled}");
    assert!(!tooled.contains("tool_calls"), "{tooled}");
    let worker = ask("worker:calc").await;
    assert!(worker.contains("1 said") && worker.contains("[DONE]"), "{worker}");
    let before = upstream.requests().len();
    let discussed = ask("althing/standard").await;
    assert!(discussed.contains("[DONE]"), "{discussed}");
    let results = upstream.requests()[before..].iter().filter(|seen| seen.results() > 0).count();
    assert!(results > 0, "whoever discusses has tools");
    stop.cancel();
    bound.ended().await;
}

#[test]
fn the_wish_for_tools_is_part_of_the_name() {
    assert_eq!(split_tools("openai:gpt-5.1+tools"), ("openai:gpt-5.1", true));
    assert_eq!(split_tools("fast+tools"), ("fast", true));
    assert_eq!(split_tools("fast"), ("fast", false));
    assert_eq!(split_tools("+tools"), ("+tools", false));
}
