//! What a voice says, by what the scene wants of it.

use super::form;
use super::ideas;
use super::lines::{AGAINST, FOR, Lines, SideLines, table};
use super::pen::Pen;
use super::scene::{Other, Side, own_sentences};

/// One speech.
pub(super) fn speak(pen: &mut Pen<'_>, lines: &Lines, stance: usize) -> String {
    let scene = pen.scene;
    match scene.side {
        _ if !scene.form.is_empty() => form::fill(pen, lines, stance),
        _ if !scene.is_ours => alone(pen, lines),
        Some(Side::For) => debate(pen, &FOR),
        Some(Side::Against) => debate(pen, &AGAINST),
        None if scene.says(&["numbered list"]) => ideas::list(pen, lines),
        None if scene.others.is_empty() => answer(pen, lines),
        None if scene.says(&["one question"]) => question(pen, lines),
        None if is_asked(pen) => reply(pen, lines),
        None if scene.says(&["is over"]) => look_back(pen),
        None if !scene.has_spoken => join(pen, lines),
        None => discuss(pen, lines),
    }
}

/// A question from outside any discussion.
fn alone(pen: &mut Pen<'_>, lines: &Lines) -> String {
    let words = pen.scene.topic.topic.trim_matches(['“', '”']);
    if !["hi", "hello", "hey", "test", "ping"].contains(&words.to_lowercase().as_str()) {
        return answer(pen, lines);
    }
    [pen.shared(table::GREETING), pen.shared(table::INVITE)].join(" ")
}

fn answer(pen: &mut Pen<'_>, lines: &Lines) -> String {
    [pen.line(lines.claim), pen.line(lines.reason), pen.line(lines.limit)].join(" ")
}

/// A first word of one's own where others have spoken already.
fn join(pen: &mut Pen<'_>, lines: &Lines) -> String {
    pen.turn_to(pen.scene.others.last());
    [pen.line(lines.claim), pen.line(lines.agree), pen.line(lines.reason)].join(" ")
}

fn discuss(pen: &mut Pen<'_>, lines: &Lines) -> String {
    pen.turn_to(pen.scene.others.last());
    let settles = pen.scene.says(&["last word", "early over"]) || pen.draw("tone", 4) == 0;
    let response = pen.line(if settles { lines.agree } else { lines.doubt });
    [response, pen.line(lines.point)].join(" ")
}

fn question(pen: &mut Pen<'_>, lines: &Lines) -> String {
    pen.turn_to(pen.scene.addressed());
    [pen.shared(table::LEAD), pen.line(lines.ask)].join(" ")
}

/// Whether the last speech before this one was a question to the voice.
fn is_asked(pen: &Pen<'_>) -> bool {
    let asks = pen.scene.others.last().is_some_and(|other| other.text.contains('?'));
    asks && pen.scene.says(&["put to you", "the last question"])
}

fn reply(pen: &mut Pen<'_>, lines: &Lines) -> String {
    // What is asked stands in the sentence that asks.
    let asked = pen.scene.others.last().map(|other| {
        let asks = |sentence: &&str| sentence.trim_end().ends_with('?');
        let question =
            own_sentences(&other.text, &pen.scene.topic.topic).find(asks).unwrap_or(&other.text);
        Other { text: question.trim().to_string(), ..other.clone() }
    });
    pen.turn_to(asked.as_ref());
    [pen.line(lines.reply), pen.line(lines.reason)].join(" ")
}

fn look_back(pen: &mut Pen<'_>) -> String {
    let others = &pen.scene.others;
    pen.turn_to(others.get(pen.draw("back", others.len())));
    [pen.shared(table::LOOK_BACK), pen.shared(table::UNKNOWN)].join(" ")
}

/// A speech for one side of a motion: open, rebut or close.
fn debate(pen: &mut Pen<'_>, side: &SideLines) -> String {
    let scene = pen.scene;
    let opponent = scene.others.iter().rev().find(|other| other.side != scene.side);
    pen.turn_to(opponent.or(scene.others.last()));
    if opponent.is_none() {
        return open(pen, side);
    }
    if scene.says(&["Close for"]) {
        return [pen.shared(side.close), pen.shared(side.concede)].join(" ");
    }
    [pen.shared(side.doubt), pen.shared(side.reason)].join(" ")
}

fn open(pen: &mut Pen<'_>, side: &SideLines) -> String {
    let place = pen.scene.place;
    let mut said = vec![
        pen.shared_after(side.claim, place),
        pen.shared_after(side.reason, 2 * place),
        pen.shared_after(side.reason, 0),
    ];
    if pen.has_partner() {
        said.insert(1, pen.shared(table::BESIDE));
    }
    said.join(" ")
}
