//! What a new run takes over from an old one. Pure: events in, values out.

use crate::export;
use althing_assembly::event::{
    Continued, Event, Opening, Outcome, Parts, Quoted, Said, Speech, Turn, What,
};
use std::collections::BTreeMap;

/// What stands where a seat was asked for a position and stated none.
const NOT_STATED: &str = "(not stated)";

/// Returns the synthesis of a run and where each seat stood last; none where it has no synthesis.
/// What was cut off is marked, since the models of the new run read it.
pub(super) fn carry_over(run: &str, opening: &Opening, events: &[Event]) -> Option<Continued> {
    let mut synthesis = None;
    let mut stands = BTreeMap::new();
    for event in events {
        let What::TurnEnded { by, outcome: Outcome::Said(said) } = &event.what else { continue };
        match &said.parts {
            Parts::Synthesis(parts) => synthesis = mark_cut(&parts.synthesis, said),
            Parts::Position { position, .. } => {
                stands.insert(by.seat, quote_stand(by, said, position));
            }
            Parts::Estimate { estimate, .. } => {
                stands.insert(by.seat, quote_stand(by, said, estimate));
            }
            Parts::Plain if by.speech == Speech::Synthesis => {
                synthesis = mark_cut(&said.text, said);
            }
            Parts::Plain | Parts::Critique { .. } => {}
        }
    }
    Some(Continued {
        run: run.to_string(),
        question: opening.question.clone(),
        synthesis: synthesis?,
        positions: stands.into_values().collect(),
    })
}

fn quote_stand(by: &Turn, said: &Said, stand: &str) -> Quoted {
    let name = match export::cut_of(said) {
        Some(cut) => format!("{}, {}", by.name, cut.in_words()),
        None => by.name.clone(),
    };
    let text = if stand.is_empty() { NOT_STATED } else { stand };
    Quoted { name, text: text.to_string() }
}

/// A synthesis has no name of its own in a prompt, so the mark stands behind its text.
fn mark_cut(text: &str, said: &Said) -> Option<String> {
    let mark = export::cut_of(said).map(|cut| format!("\n\n({})", cut.in_words()));
    (!text.is_empty()).then(|| text.to_string() + &mark.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A turn of the seat `seat` that ended well.
    fn ended(seat: usize, speech: &str, parts: Value, cut: Option<&str>) -> Value {
        let mut said = json!({ "text": "as it was", "parts": parts, "stop": "end", "took_ms": 1 });
        if let Some(cut) = cut {
            said["cut"] = cut.into();
        }
        let name = ["Ada", "Bob"][seat];
        json!({ "type": "turn_ended", "turn": 0, "phase": 1, "seat": seat, "nth": 0, "model": "m",
            "name": name, "speech": speech, "parallel": false,
            "outcome": { "said": said } })
    }

    fn position(seat: usize, text: &str, cut: Option<&str>) -> Value {
        let parts = json!({ "is": "position", "position": text, "confidence": null });
        ended(seat, "position", parts, cut)
    }

    fn estimate(seat: usize, text: &str) -> Value {
        let parts =
            json!({ "is": "estimate", "estimate": text, "unchanged": false, "confidence": null });
        ended(seat, "message", parts, None)
    }

    fn synthesis(text: &str, cut: Option<&str>) -> Value {
        let parts = json!({ "is": "synthesis", "agreed": "", "synthesis": text,
            "differences": "None", "messages": 2 });
        ended(0, "synthesis", parts, cut)
    }

    /// What is carried over from a run of these turns, a line for each text.
    #[track_caller]
    fn check(turns: Vec<Value>, want: Option<&str>) {
        let opening = json!({ "method": "standard", "question": "Why?", "seats": [], "turns": 0,
            "synthesizers": [], "synthesizer_mode": "first" });
        let opening: Opening = serde_json::from_value(opening).unwrap();
        let event = |mut what: Value| -> Event {
            (what["seq"], what["run"], what["at_ms"]) = (0.into(), "r".into(), 0.into());
            serde_json::from_value(what).unwrap()
        };
        let events: Vec<Event> = turns.into_iter().map(event).collect();
        let lines = carry_over("r", &opening, &events).map(|it| {
            let stands = it.positions.iter().map(|stand| format!("{}: {}", stand.name, stand.text));
            let lines: Vec<String> = stands.chain([format!("=> {}", it.synthesis)]).collect();
            lines.join(" | ")
        });
        assert_eq!(lines.as_deref(), want);
    }

    #[test]
    fn what_was_cut_off_or_not_stated_is_marked() {
        check(
            vec![
                position(1, "Stay.", Some("length")),
                position(0, "", None),
                synthesis("Tea and tea", Some("looping")),
            ],
            Some(
                "Ada: (not stated) | Bob, cut off: too long: Stay. | => Tea and tea\n\n(cut off: it \
                 repeated itself)",
            ),
        );
        let plain = ended(0, "synthesis", json!({ "is": "plain" }), Some("time"));
        check(vec![plain], Some("=> as it was\n\n(cut off: out of time)"));
    }

    #[test]
    fn of_each_seat_only_its_last_stand_counts() {
        let rounds =
            [("40", "70"), ("50", "")].map(|(ada, bob)| [estimate(1, bob), estimate(0, ada)]);
        let turns = rounds.into_iter().flatten().chain([synthesis("50", None)]).collect();
        check(turns, Some("Ada: 50 | Bob: (not stated) | => 50"));
    }

    #[test]
    fn without_a_synthesis_nothing_is_carried_over() {
        check(vec![position(0, "Go.", None)], None);
        check(vec![synthesis("", Some("length"))], None);
    }
}
