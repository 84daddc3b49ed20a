//! Many calls of one caller, which takes the answers in their order, on a thread and in a task.

use super::*;
use crate::limits::EACH_CALLS_MAX;

type Args = Result<Bytes, Error>;

fn number(number: u64) -> Args {
    pack((number,))
}

fn numbers(count: u64) -> Vec<Args> {
    (0..count).map(number).collect()
}

/// What a caller gets for `args` from a worker that does as `work` says, as text.
#[track_caller]
fn check(options: &Options, args: &[Args], work: fn(&mut Far), expected: &[&str]) {
    for is_task in [false, true] {
        let mut far = far(options.clone());
        let (shared, args) = (far.shared.clone(), args.to_vec());
        let caller = thread::spawn(move || {
            let each = Each::new(&shared, "same", args.into_iter());
            if !is_task {
                return each.collect::<Vec<_>>();
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(each.into_stream().collect())
        });
        work(&mut far);
        let answers = caller.join().unwrap();
        let text = |answer: Result<Reply, Error>| match answer {
            Ok(reply) => reply.read::<u64>().unwrap().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(answers.into_iter().map(text).collect::<Vec<_>>(), expected, "{is_task}");
        assert!(!far.shared.has_pending());
        assert_eq!(far.shared.places.available_permits(), options.pending_calls_max);
    }
}

impl Far {
    /// Reads so many calls, and gives their ids and arguments.
    fn calls(&mut self, count: usize) -> Vec<(String, Vec<u8>)> {
        let call = |_| {
            let message = self.inbox.next(&self.link).unwrap();
            let call = Envelope::scan(&message).unwrap();
            let id = call.id.and_then(msgpack::text).unwrap();
            (id.into(), call.args.unwrap()[1..].to_vec())
        };
        (0..count).map(call).collect()
    }

    /// Answers with what was asked.
    fn same(&self, (id, args): &(String, Vec<u8>)) {
        block_on(self.link.send(response(Id::Text(id), args)), PATIENCE).unwrap().unwrap();
    }
}

#[test]
fn s16_2_answers_in_any_order_are_taken_in_that_of_the_arguments() {
    let count = 2 * EACH_CALLS_MAX as u64;
    let expected: Vec<_> = (0..count).map(|it| it.to_string()).collect();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    let work = |far: &mut Far| {
        for _ in 0..2 {
            far.calls(EACH_CALLS_MAX).iter().rev().for_each(|call| far.same(call));
        }
    };
    check(&Options::default(), &numbers(count), work, &expected);
    check(&Options::default(), &[], |_| {}, &[]);
}

#[test]
fn s13_1_a_call_that_fails_ends_no_other() {
    let odd = Err(Error::Arguments("odd".into()));
    let args = [number(1), odd.clone(), number(2), number(3), odd];
    let work = |far: &mut Far| {
        let calls = far.calls(3);
        let error = Draft::new(Kind::Error, Id::Text(&calls[1].0)).text("error", "no");
        block_on(far.link.send(error.finish()), PATIENCE).unwrap().unwrap();
        far.same(&calls[0]);
        far.same(&calls[2]);
    };
    let odd = Error::Arguments("odd".into()).to_string();
    check(&Options::default(), &args, work, &["1", &odd, "no", "3", &odd]);
}

#[test]
fn no_more_are_on_their_way_than_there_are_places() {
    let options = Options { pending_calls_max: 2, ..Options::default() };
    let work = |far: &mut Far| {
        for _ in 0..3 {
            far.calls(2).iter().for_each(|call| far.same(call));
        }
    };
    check(&options, &numbers(6), work, &["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn s12_1_each_answer_has_a_time_limit() {
    let options = Options { call_max: Duration::ZERO, ..Options::default() };
    let late = Error::TimedOut(Duration::ZERO).to_string();
    check(&options, &numbers(2), |_| {}, &[&late, &late]);
}

#[test]
fn s8_2_the_end_of_a_connection_fails_them_all() {
    let work = |far: &mut Far| {
        let calls = far.calls(3);
        far.same(&calls[0]);
        far.link.close();
    };
    let ended = Error::Disconnected("the other side closed it".into()).to_string();
    check(&Options::default(), &numbers(3), work, &["0", &ended, &ended]);
}

#[test]
fn those_that_nobody_asks_for_are_given_up() {
    let mut far = far(Options::default());
    let shared = far.shared.clone();
    let first = thread::spawn(move || Each::new(&shared, "same", numbers(9).into_iter()).next());
    let calls = far.calls(9);
    far.same(&calls[0]);
    assert_eq!(first.join().unwrap().unwrap().unwrap().read(), Ok(0));
    assert!(!far.shared.has_pending());
}
