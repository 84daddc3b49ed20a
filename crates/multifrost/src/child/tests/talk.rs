//! Whole conversations: bytes of a connection in, what a child answers to each message, and what a
//! parent makes of the messages and the answers.

use super::*;
use crate::parent::tests::{Far, far};
use crate::tests::fuzz;
use crate::zmtp::Event;

/// Every call gets one answer, which can be read and has the id that the call had; nothing else
/// gets one but a heartbeat. A parent that hears all of it still gets its own answer.
fn check(bench: &Bench, far: &mut Far, wire: &[u8]) {
    let mut heard: Vec<Vec<u8>> = messages(wire);
    let answers: Vec<_> = heard.iter().filter_map(|message| answered(bench, message)).collect();
    heard.extend(answers);
    far.hear(&heard);
}

fn messages(wire: &[u8]) -> Vec<Vec<u8>> {
    let (mut session, mut rest) = (Session::new(Role::Router, 1 << 16), wire);
    let mut messages = Vec::new();
    while let Ok(Some(event)) = session.feed(&mut rest) {
        if let Event::Message(message) = event {
            messages.push(message);
        }
    }
    messages
}

fn answered(bench: &Bench, message: &[u8]) -> Option<Vec<u8>> {
    let packet = match bench.running.judge(message.to_vec(), &bench.link) {
        Step::Ignore | Step::End | Step::Cancel(_) | Step::Taken(..) => return None,
        Step::Answer(packet) => packet,
        Step::Run(job) if job.ticket.is_stream => {
            // Nobody takes the items here, so none is made.
            job.ticket.cancel();
            bench.running.answer(&job)
        }
        Step::Run(job) => bench.running.answer(&job),
    };
    let answer = payload(&packet);
    let (asked, said) = (Envelope::scan_all(message).0.unwrap(), Envelope::scan(&answer).unwrap());
    assert!(said.id.is_some() && asked.id.is_none_or(|id| said.id == Some(id)));
    let is_fit = match asked.kind {
        Some(Kind::Call) => matches!(said.kind, Some(Kind::Response | Kind::Error)),
        Some(Kind::Heartbeat) => said.kind == Some(Kind::Heartbeat),
        _ => false,
    };
    assert!(is_fit, "{asked:?} is answered by {said:?}");
    Some(answer)
}

#[test]
fn soak_fuzz_conversations() {
    // Its panics would be printed by the thousand.
    let child = ext::streams().function("panic", |()| Ok(()));
    // Streams without an end are collected up to here, again and again.
    let child = child.message_bytes_max(1 << 12);
    let (bench, far) = (
        bench(child),
        far(crate::parent::Options {
            output: Arc::new(|_| {}),
            ..crate::parent::Options::default()
        }),
    );
    let far = std::cell::RefCell::new(far);
    fuzz::run("talk", |wire, _| check(&bench, &mut far.borrow_mut(), wire));
}
