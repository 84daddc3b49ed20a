//! Extensions as they go over the wire, to workers that know them and to old ones.

use super::*;
use crate::ext::{Extensions, Notes};
use crate::limits::STREAM_ITEMS_MAX;
use crate::token::Token;

/// What a message says, as `kind` and what `metadata` holds.
fn told(message: &[u8]) -> (Kind, String) {
    let envelope = Envelope::scan(message).unwrap();
    let metadata = envelope.metadata.map_or("-".into(), |it| plain(&Value::read(it).unwrap()));
    (envelope.kind.unwrap(), metadata)
}

fn plain(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Map(pairs) => {
            join(pairs.iter().map(|(k, v)| format!("{}={}", plain(k), plain(v))).collect())
        }
        Value::Array(items) => join(items.iter().map(plain).collect()),
        Value::Str(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

const OFFER: &str = "ext=auth cancel stream";

impl Far {
    fn heard(&mut self) -> (Kind, String, String) {
        let message = self.inbox.next(&self.link).unwrap();
        let id = Envelope::scan(&message).unwrap().id.and_then(msgpack::text).unwrap();
        let (kind, metadata) = told(&message);
        (kind, metadata, id.into())
    }

    /// Reads a call, which says this in `metadata`, and answers it with `more` said.
    #[track_caller]
    fn answer(&mut self, metadata: &str, answer: impl Fn(Draft) -> Draft, kind: Kind) -> String {
        let (heard, said, id) = self.heard();
        assert_eq!((heard, said.as_str()), (Kind::Call, metadata));
        self.say(answer(Draft::new(kind, Id::Text(&id))));
        id
    }

    fn say(&self, draft: Draft) {
        block_on(self.link.send(draft.finish()), PATIENCE).unwrap().unwrap();
    }

    /// A call on a thread of its own.
    fn call(&self, max: Duration) -> thread::JoinHandle<Option<Result<Reply, Error>>> {
        let shared = self.shared.clone();
        let options = CallOptions::default();
        thread::spawn(move || block_on(shared.request(&options, "add", b"\x92\x01\x02"), max))
    }

    /// A parent of this connection, whose worker is nobody's business.
    fn parent(&self) -> Parent {
        let worker = Worker::Service;
        Parent { inner: Arc::new(Inner { shared: self.shared.clone(), worker }) }
    }
}

fn three(draft: Draft) -> Draft {
    draft.packed("result", b"\x03")
}

fn knowing(draft: Draft) -> Draft {
    three(draft.notes(&Notes { ext: Some(Extensions::ALL), ..Notes::default() }))
}

#[test]
fn s19_2_s33_3_s38_an_old_worker_hears_names_once_and_nothing_else() {
    let mut far = far(Options { token: Some(Token::new("secret")), ..Options::default() });
    let first = far.call(PATIENCE);
    far.answer(OFFER, three, Kind::Response);
    assert_eq!(first.join().unwrap().unwrap().unwrap().read(), Ok(3));
    // One that is given up: no word about that reaches the wire.
    let given_up = far.call(Duration::from_millis(1));
    assert_eq!(given_up.join().unwrap(), None);
    let (kind, metadata, _) = far.heard();
    assert_eq!((kind, metadata.as_str()), (Kind::Call, "-"));
    // A stream is a call as any other, and its answer is a list, or one item.
    for (result, items) in [(&b"\x93\x01\x02\x03"[..], vec![1, 2, 3]), (b"\x07", vec![7])] {
        let parent = far.parent();
        let stream = thread::spawn(move || {
            let items = parent.blocking().stream::<i64>("count", (3,)).unwrap();
            items.collect::<Result<Vec<_>, _>>()
        });
        far.answer("-", |draft| draft.packed("result", result), Kind::Response);
        assert_eq!(stream.join().unwrap(), Ok(items));
        far.shared = Arc::new(Shared::new("far", Options::default()));
        far = far_again(far);
        let first = far.call(PATIENCE);
        far.answer(OFFER, three, Kind::Response);
        first.join().unwrap().unwrap().unwrap();
    }
}

/// Another connection: what the last worker knew is forgotten.
fn far_again(old: Far) -> Far {
    drop(old);
    far(Options::default())
}

#[test]
fn s38_4_an_old_worker_that_refuses_gets_no_token() {
    let mut far = far(Options { token: Some(Token::new("secret")), ..Options::default() });
    let call = far.call(PATIENCE);
    let refuse = |draft: Draft| draft.text("error", "Authentication required");
    far.answer(OFFER, refuse, Kind::Error);
    let refused = Error::Remote("Authentication required".into());
    assert_eq!(call.join().unwrap(), Some(Err(refused)));
}

#[test]
fn s38_4_a_token_is_sent_to_who_asks_for_it() {
    let mut far = far(Options { token: Some(Token::new("secret")), ..Options::default() });
    let ext = Some(Extensions::ALL);
    let refuse = |draft: Draft| {
        draft.notes(&Notes { ext, ..Notes::default() }).text("error", "Authentication required")
    };
    let call = far.call(PATIENCE);
    far.answer(OFFER, refuse, Kind::Error);
    far.answer("token=secret", three, Kind::Response);
    assert_eq!(call.join().unwrap().unwrap().unwrap().read(), Ok(3));
    // A second refusal is an answer: the token is wrong.
    let call = far.call(PATIENCE);
    far.answer("token=secret", refuse, Kind::Error);
    assert!(matches!(call.join().unwrap(), Some(Err(Error::Remote(_)))));
}

#[test]
fn s38_2_a_call_that_is_given_up_is_cancelled_once() {
    let mut far = far(Options::default());
    let first = far.call(PATIENCE);
    far.answer(OFFER, knowing, Kind::Response);
    assert!(first.join().unwrap().unwrap().is_ok());
    let given_up = far.call(Duration::from_millis(1));
    let (kind, metadata, id) = far.heard();
    assert_eq!((kind, metadata.as_str()), (Kind::Call, "-"));
    assert_eq!(given_up.join().unwrap(), None);
    assert_eq!(far.heard(), (Kind::Cancel, "-".into(), id));
    // One that is answered is not cancelled: the next thing heard is the next call.
    for _ in 0..2 {
        let call = far.call(PATIENCE);
        far.answer("-", three, Kind::Response);
        assert!(call.join().unwrap().unwrap().is_ok());
    }
}

/// A stream with the first call behind it, and the id under which it runs.
fn stream(far: &mut Far) -> (thread::JoinHandle<Result<BlockingItems<i64>, Error>>, String) {
    let parent = far.parent();
    let opening = thread::spawn(move || parent.blocking().stream("count", (3,)));
    far.answer(OFFER, knowing, Kind::Response);
    let (kind, metadata, id) = far.heard();
    assert_eq!((kind, metadata), (Kind::Call, format!("{OFFER} stream=Bool(true)")));
    (opening, id)
}

fn item(id: &str) -> Draft {
    Draft::new(Kind::Stream, Id::Text(id)).packed("result", b"\x05")
}

fn end(id: &str, items: u64) -> Draft {
    let notes = Notes { items: Some(items), ..Notes::default() };
    Draft::new(Kind::Response, Id::Text(id)).notes(&notes).packed("result", b"\xc0")
}

#[test]
fn s38_3_the_items_of_a_stream_come_to_its_end() {
    type Ending = fn(&str) -> Draft;
    let endings: [(Ending, Result<i64, Error>); 4] = [
        (|id| end(id, 2), Ok(10)),
        (|id| end(id, 3), Err(Error::Answer("2 items of 3 came".into()))),
        (
            |id| Draft::new(Kind::Error, Id::Text(id)).text("error", "no"),
            Err(Error::Remote("no".into())),
        ),
        (|id| three(Draft::new(Kind::Response, Id::Text(id))), Ok(13)),
    ];
    for (ending, sum) in endings {
        let mut far = far(Options::default());
        let (opening, id) = stream(&mut far);
        far.say(item(&id));
        far.say(item("unknown"));
        far.say(item(&id));
        far.say(ending(&id));
        far.say(item(&id));
        let mut items = opening.join().unwrap().unwrap();
        assert_eq!(items.by_ref().sum::<Result<i64, Error>>(), sum);
        assert!(items.next().is_none());
    }
}

#[test]
fn s38_3_a_stream_that_is_dropped_or_overrun_is_cancelled() {
    let mut far_one = far(Options::default());
    let (opening, id) = stream(&mut far_one);
    far_one.say(item(&id));
    let mut items = opening.join().unwrap().unwrap();
    assert_eq!(items.next(), Some(Ok(5)));
    drop(items);
    assert_eq!(far_one.heard(), (Kind::Cancel, "-".into(), id));

    let mut far = far(Options::default());
    let (opening, id) = stream(&mut far);
    for _ in 0..STREAM_ITEMS_MAX + 5 {
        far.say(item(&id));
    }
    far.say(end(&id, 1));
    // The end of a call shows that all before it has come.
    let call = far.call(PATIENCE);
    let (_, _, other) = far.heard();
    far.say(three(Draft::new(Kind::Response, Id::Text(&other))));
    assert!(call.join().unwrap().unwrap().is_ok());
    let items: Vec<_> = opening.join().unwrap().unwrap().collect();
    assert_eq!(items.len(), STREAM_ITEMS_MAX + 1);
    assert_eq!(items.last(), Some(&Err(Error::Answer("more items came than may wait".into()))));
}

#[test]
fn s38_3_the_worker_is_told_how_far_the_caller_is() {
    let mut far = far(Options::default());
    let (opening, id) = stream(&mut far);
    for _ in 0..STREAM_ITEMS_MAX {
        far.say(item(&id));
    }
    let mut items = opening.join().unwrap().unwrap();
    for _ in 0..=STREAM_ITEMS_MAX / 2 {
        assert_eq!(items.next(), Some(Ok(5)));
    }
    let half = STREAM_ITEMS_MAX / 2;
    assert_eq!(far.heard(), (Kind::Stream, format!("taken={half}"), id.clone()));
    far.link.cut();
    let last = items.by_ref().last();
    assert!(matches!(last, Some(Err(Error::Disconnected(_)))), "{last:?}");
}
