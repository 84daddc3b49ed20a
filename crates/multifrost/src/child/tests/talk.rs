//! Whole conversations: bytes of a connection in, what a child answers to each message, and what a
//! parent makes of the messages and the answers.

use super::*;
use crate::child::desk::Admitted;
use crate::parent::tests::{Far, far};
use crate::tests::fuzz;
use crate::zmtp::Event;

/// Every call gets one answer, which can be read and has the id that the call had; nothing else
/// gets one but a heartbeat. A parent that hears all of it still gets its own answer. Gives how many
/// messages were about a call under way.
fn check(bench: &Bench, far: &mut Far, wire: &[u8]) -> usize {
    let mut heard: Vec<Vec<u8>> = messages(wire);
    let (mut answers, mut calls) = (Vec::new(), Vec::new());
    let (mut next, mut about) = (None, 0);
    // The first call takes so long that all else comes meanwhile: what is said of calls finds them.
    for message in &heard {
        let packet = match bench.running.judge(message.clone(), &bench.link) {
            Step::Ignore | Step::End => continue,
            Step::Cancel(ticket) => {
                ticket.cancel();
                about += 1;
                continue;
            }
            Step::Taken(ticket, total) => {
                ticket.taken(total);
                about += 1;
                continue;
            }
            Step::Answer(packet) => packet,
            Step::Run(job) => {
                calls.push(message);
                match bench.running.desk.admit(job) {
                    Admitted::Now(job) => next = Some(job),
                    Admitted::Later => {}
                    Admitted::Full => panic!("no wire of a test has so many calls"),
                }
                continue;
            }
        };
        answers.push(fit(message, &packet));
    }
    for message in calls {
        let job = next.take().expect("every call that waits is run");
        if job.ticket.is_stream {
            // Nobody takes the items here, so none is made.
            job.ticket.cancel();
        }
        answers.push(fit(message, &bench.running.answer(&job)));
        next = bench.running.desk.done(&job.ticket);
    }
    assert!(next.is_none());
    heard.extend(answers);
    far.hear(&heard);
    about
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

/// The answer in a packet, which fits the message.
fn fit(message: &[u8], packet: &Packet) -> Vec<u8> {
    let answer = payload(packet);
    let (asked, said) = (Envelope::scan_all(message).0.unwrap(), Envelope::scan(&answer).unwrap());
    assert!(said.id.is_some() && asked.id.is_none_or(|id| said.id == Some(id)));
    let is_fit = match asked.kind {
        Some(Kind::Call) => matches!(said.kind, Some(Kind::Response | Kind::Error)),
        Some(Kind::Heartbeat) => said.kind == Some(Kind::Heartbeat),
        _ => false,
    };
    assert!(is_fit, "{asked:?} is answered by {said:?}");
    answer
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
    let about = std::cell::Cell::new(0);
    fuzz::run("talk", |wire, _| {
        about.set(about.get() + check(&bench, &mut far.borrow_mut(), wire));
    });
    assert!(about.get() > 0, "calls are cancelled and items taken");
}
