//! Streams with scripted models on a paused clock.

mod bulk;
mod limits;
mod soak;
mod whole;

use super::*;
use althing_chat::{Role, ToolCall};
use althing_testkit::Scripted;
use althing_testkit::scripted::Step::{self, *};
use expect_test::{Expect, expect};
use serde_json::json;
use std::ops::Deref;

/// One thing a client does.
enum Do {
    Say(&'static str),
    System(&'static str),
    Assistant(&'static str),
    /// A call's id and its result.
    Result(Option<&'static str>, &'static str),
    /// Milliseconds to wait, and how many chunks at most.
    Get(Option<u64>, usize),
}

fn caller(connection: &str) -> Caller {
    Caller { connection: connection.into(), name: "test".into() }
}

/// Streams whose partners are models of the test's own.
#[derive(Default)]
struct Stage {
    streams: Streams,
    voices: Mutex<HashMap<String, Arc<dyn Model>>>,
}

impl Deref for Stage {
    type Target = Streams;

    fn deref(&self) -> &Streams {
        &self.streams
    }
}

impl Stage {
    fn create(&self, caller: &Caller, id: String, model: Arc<dyn Model>) -> Result<String> {
        let id = self.streams.create(caller, id, nobody())?;
        self.voices.lock().unwrap().insert(id.clone(), model);
        Ok(id)
    }

    fn send(&self, owner: &str, id: &str, message: Message, tools: Vec<Tool>) -> Result<()> {
        let line = self.line(&caller(owner), id)?;
        let voice = self.voices.lock().unwrap()[id].clone();
        line.send(voice, None, message, tools)
    }
}

/// A name that is not looked up.
fn nobody() -> Partner {
    Partner { model_id: String::new(), affinity: 0 }
}

fn open(streams: &Stage, owner: &str, model: &Scripted) -> String {
    let id = format!("stream_{}", fastrand::u64(..));
    streams.create(&caller(owner), id, Arc::new(model.clone())).unwrap()
}

fn say(streams: &Stage, owner: &str, id: &str, message: Message) -> Result<()> {
    streams.send(owner, id, message, vec![])
}

async fn get(streams: &Streams, owner: &str, id: &str) -> Result<Received> {
    streams.receive(&caller(owner), id, None, 1).await
}

fn shown(got: Result<Received>) -> String {
    match got {
        Err(fault) => {
            let wait = fault.retry_after.map(|wait| format!(" (after {wait:?})"));
            format!("{}: {}{}", fault.kind, fault.message, wait.unwrap_or_default())
        }
        Ok(Received { tool_call: Some(ToolCall { id, name, arguments, .. }), .. }) => {
            format!("{id} {name} {arguments}")
        }
        Ok(Received { done: true, usage, .. }) => {
            let usage = usage.map(|usage| format!(" {:?}+{:?}", usage.input, usage.output));
            format!("done{}", usage.unwrap_or_default())
        }
        Ok(Received { reasoning, .. }) if !reasoning.is_empty() => format!("thinks {reasoning:?}"),
        Ok(Received { chunks, .. }) if chunks.is_empty() => "nothing".into(),
        Ok(Received { chunks, .. }) => format!("{chunks:?}"),
    }
}

/// Plays a conversation and tells what the client got when, and what the model was asked.
async fn check(turns: &[&[Step]], script: &[Do], want: Expect) {
    let model = Scripted::new("m", turns.iter().map(|turn| turn.to_vec()));
    let (streams, start) = (Stage::default(), Instant::now());
    let id = open(&streams, "a", &model);
    let mut out = String::new();
    for step in script {
        let got = match step {
            Do::Get(wait, max) => {
                let wait = wait.map(Duration::from_millis);
                shown(streams.receive(&caller("a"), &id, wait, *max).await)
            }
            Do::Say(text) => sent(say(&streams, "a", &id, Message::user(*text))),
            Do::System(text) => sent(say(&streams, "a", &id, Message::system(*text))),
            Do::Assistant(text) => sent(say(&streams, "a", &id, Message::assistant(*text))),
            Do::Result(call, text) => {
                let message =
                    Message { tool_call_id: call.map(str::to_string), ..Message::tool("", *text) };
                sent(say(&streams, "a", &id, message))
            }
        };
        out += &format!("{}ms {got}\n", start.elapsed().as_millis());
    }
    for asked in model.asks() {
        out += &format!("asked {}\n", told(&asked.ask.messages));
    }
    want.assert_eq(&out);
}

fn sent(result: Result<()>) -> String {
    result.map_or_else(|fault| format!("{}: {}", fault.kind, fault.message), |()| "sent".into())
}

fn told(messages: &[Message]) -> String {
    let one = |it: &Message| {
        let calls = it.tool_calls.iter().map(|call| format!("<{}>", call.id)).collect::<String>();
        let id = it.tool_call_id.as_ref().map(|id| format!("<{id}>")).unwrap_or_default();
        let role = match it.role {
            Role::System => 's',
            Role::User => 'u',
            Role::Assistant => 'a',
            Role::Tool => 't',
        };
        format!("{role}:{}{calls}{id}", it.text)
    };
    messages.iter().map(one).collect::<Vec<_>>().join(" ")
}

const GET: Do = Do::Get(None, 1);

#[tokio::test(start_paused = true)]
async fn a_conversation() {
    check(
        &[
            &[
                Queue,
                Start,
                Think("hm"),
                Say("Hel"),
                Say(""),
                WaitMs(50),
                Say("lo!"),
                UsageOf(3, 7),
            ],
            &[Say("Bye")],
        ],
        &[
            Do::System("Be brief"),
            Do::Say("Hi"),
            GET,
            GET,
            GET,
            GET,
            GET,
            Do::Say("Go"),
            GET,
            GET,
            GET,
        ],
        expect![[r#"
            0ms sent
            0ms sent
            0ms thinks "hm"
            0ms ["Hel"]
            50ms ["lo!"]
            50ms done Some(3)+Some(7)
            50ms invalid_params: nothing is pending: send a message first
            50ms sent
            50ms ["Bye"]
            50ms done
            50ms invalid_params: nothing is pending: send a message first
            asked s:Be brief u:Hi
            asked s:Be brief u:Hi a:Hello! u:Go
        "#]],
    )
    .await;
}

/// Thoughts come in their place, those that waited as one; the conversation does not keep them.
#[tokio::test(start_paused = true)]
async fn thoughts_come_before_the_answer_and_are_not_kept() {
    check(
        &[
            &[Think("let "), Think("me "), Think("see"), Say("A"), Say("B"), Think("or"), Say("C")],
            &[Say("D")],
        ],
        &[
            Do::Say("Hi"),
            Do::Get(Some(10), 8),
            Do::Get(Some(10), 8),
            Do::Get(Some(10), 8),
            Do::Get(Some(10), 8),
            Do::Get(Some(10), 8),
            Do::Say("Go"),
            GET,
        ],
        expect![[r#"
            0ms sent
            0ms thinks "let me see"
            0ms ["A", "B"]
            0ms thinks "or"
            0ms ["C"]
            0ms done
            0ms sent
            0ms ["D"]
            asked u:Hi
            asked u:Hi a:ABC u:Go
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn waiting_has_an_end() {
    check(
        &[&[Wait(60), Say("late")]],
        &[
            GET,
            Do::Say("Hi"),
            Do::Get(Some(5_000), 1),
            Do::Get(Some(0), 1),
            Do::Get(Some(60_000), 1),
            GET,
            Do::Get(Some(15_001), 1),
            GET,
        ],
        expect![[r#"
            0ms invalid_params: nothing is pending: send a message first
            0ms sent
            5000ms nothing
            5000ms nothing
            25000ms nothing
            45000ms nothing
            60000ms ["late"]
            60000ms done
            asked u:Hi
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn several_chunks_at_once() {
    check(
        &[&[Say("a"), Say("b"), Say("c"), Call("f", "{}"), Say("d"), Say("e"), UsageOf(1, 2)]],
        &[
            Do::Say("Hi"),
            Do::Get(Some(0), 0),
            Do::Get(Some(0), 257),
            // The model needs a moment to be heard.
            Do::Get(Some(1), 1),
            Do::Get(Some(1), 256),
            Do::Get(Some(1), 256),
            Do::Get(Some(1), 256),
            Do::Get(Some(1), 256),
        ],
        expect![[r#"
            0ms sent
            0ms invalid_params: max_chunks: 1 to 256, not 0
            0ms invalid_params: max_chunks: 1 to 256, not 257
            0ms ["a"]
            0ms ["b", "c"]
            0ms call-1 f {}
            0ms ["d", "e"]
            0ms done Some(1)+Some(2)
            asked u:Hi
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn tools_are_answered_before_the_model_goes_on() {
    check(
        &[
            &[Say("So"), Call("add", "{\"a\":1}"), Call("sub", "{}")],
            &[Call("mul", "{}")],
            &[Say("fine")],
        ],
        &[
            Do::Result(None, "early"),
            Do::Say("Hi"),
            GET,
            GET,
            GET,
            GET,
            GET,
            Do::Say("and?"),
            Do::Result(Some("call-9"), "?"),
            Do::Result(Some("call-2"), "two"),
            GET,
            Do::Result(Some("call-2"), "two again"),
            Do::Result(None, "one"),
            GET,
            GET,
            Do::Result(None, "three"),
            GET,
            GET,
        ],
        expect![[r#"
            0ms invalid_params: message.tool_call_id: no such call is open; open: none
            0ms sent
            0ms ["So"]
            0ms call-1 add {"a":1}
            0ms call-2 sub {}
            0ms done
            0ms invalid_params: nothing is pending: send the result of the call 'call-1' first
            0ms invalid_params: message.role: tool, since the call 'call-1' is open
            0ms invalid_params: message.tool_call_id: no such call is open; open: call-1, call-2
            0ms sent
            0ms invalid_params: nothing is pending: send the result of the call 'call-1' first
            0ms invalid_params: message.tool_call_id: no such call is open; open: call-1
            0ms sent
            0ms call-1 mul {}
            0ms done
            0ms sent
            0ms ["fine"]
            0ms done
            asked u:Hi
            asked u:Hi a:So<call-1><call-2> t:two<call-2> t:one<call-1>
            asked u:Hi a:So<call-1><call-2> t:two<call-2> t:one<call-1> a:<call-1> t:three<call-1>
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_reply_is_told_once_and_forgotten() {
    let limited = Fault::new(Kind::RateLimited, "slow down");
    let limited = limited.retry_after(Some(Duration::from_secs(7)));
    check(
        &[
            &[Say("half"), FailWith(limited)],
            &[Say("cut"), Cut],
            &[Refuse],
            &[Say("well")],
            &[Say("yes")],
        ],
        &[
            Do::Say("Hi"),
            GET,
            GET,
            GET,
            Do::Say("Hi 2"),
            GET,
            GET,
            Do::Say("Hi 3"),
            GET,
            Do::Say("Hi 4"),
            GET,
            GET,
            Do::Say("Hi 5"),
            GET,
        ],
        expect![[r#"
            0ms sent
            0ms ["half"]
            0ms rate_limited: slow down (after 7s)
            0ms invalid_params: nothing is pending: send a message first
            0ms sent
            0ms ["cut"]
            0ms network: the answer broke off
            0ms sent
            0ms refused: the model declined to answer
            0ms sent
            0ms ["well"]
            0ms done
            0ms sent
            0ms ["yes"]
            asked u:Hi
            asked u:Hi 2
            asked u:Hi 3
            asked u:Hi 4
            asked u:Hi 4 a:well u:Hi 5
        "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_said() {
    check(
        &[&[Say("a"), Say("b")]],
        &[
            Do::Assistant("me"),
            Do::Say("Hi"),
            Do::Say("Hi again"),
            GET,
            GET,
            Do::System("still"),
            GET,
            Do::System("now"),
        ],
        expect![[r#"
            0ms invalid_params: message.role: user, tool or system; the assistant speaks for itself
            0ms sent
            0ms busy: a reply is under way: receive it to its end first
            0ms ["a"]
            0ms ["b"]
            0ms busy: a reply is under way: receive it to its end first
            0ms done
            0ms sent
            asked u:Hi
        "#]],
    )
    .await;
    let streams = Stage::default();
    let id = open(&streams, "a", &Scripted::new("m", []));
    let (name, arguments) = ("f".into(), "{}".into());
    let call = ToolCall { id: "c".into(), name, arguments, signature: None };
    let odd = Message { tool_calls: vec![call], ..Message::user("x") };
    let fault = say(&streams, "a", &id, odd).unwrap_err();
    assert_eq!(fault.message, "message.tool_calls: only an assistant has them");
    let odd = Message { tool_call_id: Some("c".into()), ..Message::user("x") };
    let fault = say(&streams, "a", &id, odd).unwrap_err();
    assert_eq!(fault.message, "message.tool_call_id: only a tool's message has one");
}

#[tokio::test(start_paused = true)]
async fn tools_stay_until_others_come() {
    let model = Scripted::from_fn("m", |_, _| vec![Say("ok")]);
    let streams = Stage::default();
    let id = open(&streams, "a", &model);
    let tool = |name: &str| Tool {
        name: name.into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    for tools in [vec![tool("f")], vec![], vec![tool("g"), tool("h")], vec![]] {
        streams.send("a", &id, Message::user("go"), tools).unwrap();
        while !get(&streams, "a", &id).await.unwrap().done {}
    }
    let names = |ask: &althing_chat::Ask| ask.tools.iter().map(|it| it.name.clone()).collect();
    let offered: Vec<String> = model
        .asks()
        .iter()
        .map(|it| -> Vec<String> { names(&it.ask) })
        .map(|all| all.join(","))
        .collect();
    assert_eq!(offered, ["f", "f", "g,h", "g,h"]);
}
