//! Events as frontends know them. It renames; the only thing it holds back is what came out of its
//! order: speeches made at the same time go out in the order of the models.

use crate::log::UNSAVED;
use althing_assembly::event::{
    Ending, Failure, Level, Note as TurnNote, Outcome, Parts, Said, Speech, Sureness, Synthesis,
    Turn, What,
};
use althing_assembly::{Method, measure};
use althing_stdx::text::clip;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A notification: its name and its parameters.
pub(super) type Note = (&'static str, Value);

/// The event with which a pause begins.
pub(super) const PHASE_COMPLETE: &str = "phase_complete";
/// Sections of a conclusion that tell about the talk; the others belong to its text.
const ASIDES: [&str; 2] = ["Evolution", "Speakers"];
/// Characters of a failure.
const ERROR_CHARS_MAX: usize = 500;
/// What stands on the wire where a model did not say: the wire has no word for that, so a field
/// beside it tells.
const NOT_STATED: &str = "(no position stated)";
const CONFIDENCE_UNSTATED: Level = Level::Medium;
const CONSENSUS_UNSTATED: &str = "PARTIAL";

/// The translation of one discussion.
pub(super) struct Wire {
    method: &'static Method,
    /// The ids as the frontend wrote them, by seat.
    ids: Vec<String>,
    discussion: String,
    /// Turns made at the same time, in their order, and what they wait to say.
    waiting: BTreeMap<u32, Option<Note>>,
    /// Words that the prompt of a turn left out for want of room, by the turn.
    left_out: BTreeMap<u32, usize>,
    messages: u32,
    /// Whether models are asked how sure they are.
    has_confidences: bool,
    /// How long the pause was to last that is under way.
    pause_ms: u64,
    /// Why the run is not saved, where it is not.
    unsaved: Option<String>,
}

impl Wire {
    pub fn new(method: &'static Method, ids: Vec<String>) -> Wire {
        Wire {
            method,
            ids,
            discussion: uuid(),
            waiting: BTreeMap::new(),
            left_out: BTreeMap::new(),
            messages: 0,
            has_confidences: false,
            pause_ms: 0,
            unsaved: None,
        }
    }

    /// What an event is on the wire.
    pub fn on(&mut self, what: &What) -> Vec<Note> {
        match what {
            What::PhaseStarted { phase, total, name, .. } => {
                vec![self.phase_start(*phase, *total, name)]
            }
            What::PhaseEnded { next, next_name, .. } => vec![self.phase_complete(*next, next_name)],
            What::PauseStarted { timeout_ms, .. } => {
                self.pause_ms = *timeout_ms;
                vec![]
            }
            What::PauseEnded { timed_out: true, .. } => vec![self.pause_timeout()],
            What::TurnStarted(turn) if turn.parallel => {
                self.waiting.insert(turn.turn, None);
                vec![]
            }
            What::TurnStarted(turn) => vec![self.note("thinking", json!({"model": self.id(turn)}))],
            What::TurnNoted { turn, note: TurnNote::Fitted(fitted) } => {
                self.left_out.insert(*turn, fitted.words);
                vec![]
            }
            What::TurnEnded { by, outcome } => self.turn_ended(by, outcome),
            What::RunEnded { ending, .. } => self.run_ended(ending),
            What::Warned { code, message } => {
                let is_loss = code == UNSAVED;
                self.unsaved = is_loss.then(|| message.clone()).or(self.unsaved.take());
                vec![]
            }
            What::RunStarted(_)
            | What::RunResumed { .. }
            | What::PauseEnded { .. }
            | What::TurnNoted { .. }
            | What::TurnDelta { .. }
            | What::TurnInterrupted { .. }
            | What::AnswerChecked(_)
            | What::LabelsSealed(_)
            | What::PlansJudged(_)
            | What::PlanSettled(_) => vec![],
        }
    }

    /// A failure of the whole discussion.
    pub fn error(&self, message: &str) -> Note {
        self.note("discussion_error", json!({"error": message}))
    }

    fn phase_start(&self, phase: u32, total: u32, name: &str) -> Note {
        let params = json!({
            "phase": phase,
            "message": title(phase, name),
            "message_key": self.key(phase),
            "params": self.phase_params(phase),
            "num_participants": self.ids.len(),
            "method": self.method.name,
            "total_phases": total,
        });
        self.note("phase_start", params)
    }

    /// A phase that was skipped counts as completed.
    fn phase_complete(&self, next: u32, name: &str) -> Note {
        let params = json!({
            "completed_phase": next - 1,
            "next_phase": next,
            "next_phase_message": title(next, name),
            "next_phase_message_key": self.key(next),
            "next_phase_params": self.phase_params(next),
            "method": self.method.name,
        });
        self.note(PHASE_COMPLETE, params)
    }

    fn pause_timeout(&self) -> Note {
        let params = json!({
            "message": "Auto-resuming after timeout",
            "timeout_seconds": self.pause_ms / 1000,
        });
        self.note("pause_timeout", params)
    }

    fn key(&self, phase: u32) -> String {
        format!("phase.{}.{phase}.msg", self.method.name)
    }

    fn phase_params(&self, phase: u32) -> Value {
        match (self.method.name, phase) {
            ("standard", 1) => json!({"count": self.ids.len().to_string()}),
            _ => json!({}),
        }
    }

    fn turn_ended(&mut self, by: &Turn, outcome: &Outcome) -> Vec<Note> {
        if let Outcome::Said(said) = outcome {
            self.messages += 1;
            self.has_confidences |=
                matches!(said.parts, Parts::Position { .. } | Parts::Estimate { .. });
        }
        let mut content = self.content(by, outcome);
        if let (Some((_, params)), Some(words)) = (&mut content, self.left_out.remove(&by.turn)) {
            params["words_left_out"] = json!(words);
        }
        if !by.parallel {
            return content.into_iter().collect();
        }
        let is_answer = by.speech == Speech::Answer;
        let done = is_answer.then(|| self.note("thinking_complete", json!({"model": self.id(by)})));
        self.waiting.insert(by.turn, content);
        done.into_iter().chain(self.due()).collect()
    }

    /// What waits for nobody any more.
    fn due(&mut self) -> Vec<Note> {
        let mut notes = Vec::new();
        while let Some(first) = self.waiting.first_entry().filter(|first| first.get().is_some()) {
            notes.extend(first.remove());
        }
        notes
    }

    /// What was said, or that nothing was. A synthesis that failed is written by somebody else.
    fn content(&self, by: &Turn, outcome: &Outcome) -> Option<Note> {
        match outcome {
            Outcome::Said(said) => Some(self.said(by, said)),
            Outcome::Failed(_) if by.speech == Speech::Synthesis => None,
            Outcome::Failed(failure) => Some(self.failed(by, failure)),
        }
    }

    /// A speech, marked where it was cut off.
    fn said(&self, by: &Turn, said: &Said) -> Note {
        let (name, mut params) = self.said_whole(by, said);
        if let Some(cut) = said.cut {
            params["cut"] = json!(cut);
        }
        (name, params)
    }

    fn said_whole(&self, by: &Turn, said: &Said) -> Note {
        match (&said.parts, by.speech) {
            (Parts::Critique { agreements, disagreements, missing }, _) => {
                self.critique(by, agreements, disagreements, missing)
            }
            (Parts::Position { position, confidence }, _) => {
                let level = confidence.map(|confidence| confidence.level);
                match position.is_empty() {
                    true => self.unstated_position(by, NOT_STATED, level),
                    false => self.position(by, position, level),
                }
            }
            (Parts::Synthesis(synthesis), _) => self.synthesis(by, synthesis),
            (_, Speech::Answer) => {
                self.from(by, "independent_answer", json!({"content": said.text}))
            }
            (_, _) => self.message(by, &said.text),
        }
    }

    fn failed(&self, by: &Turn, failure: &Failure) -> Note {
        let text = format!("[Error: {}]", clip(&failure.message, ERROR_CHARS_MAX));
        let (name, mut params) = match by.speech {
            Speech::Critique => self.critique(by, &text, "", ""),
            Speech::Position => self.unstated_position(by, &text, None),
            Speech::Answer => self.from(by, "independent_answer", json!({"content": text})),
            Speech::Message | Speech::Synthesis => self.message(by, &text),
        };
        params["failed"] = json!(true);
        (name, params)
    }

    fn critique(&self, by: &Turn, agreements: &str, disagreements: &str, missing: &str) -> Note {
        let parts =
            json!({"agreements": agreements, "disagreements": disagreements, "missing": missing});
        self.from(by, "critique", parts)
    }

    fn position(&self, by: &Turn, position: &str, level: Option<Level>) -> Note {
        let shown = level.unwrap_or(CONFIDENCE_UNSTATED);
        let params = json!({"position": position, "confidence": shown});
        let (name, mut params) = self.from(by, "final_position", params);
        if level.is_none() {
            params["confidence_stated"] = json!(false);
        }
        (name, params)
    }

    /// A position that is none: `text` says why.
    fn unstated_position(&self, by: &Turn, text: &str, level: Option<Level>) -> Note {
        let (name, mut params) = self.position(by, text, level);
        params["position_stated"] = json!(false);
        (name, params)
    }

    fn message(&self, by: &Turn, text: &str) -> Note {
        let parts = json!({
            "content": text,
            "role": by.role,
            "round_type": by.round,
            "method": self.method.name,
        });
        self.from(by, "chat_message", parts)
    }

    fn synthesis(&self, by: &Turn, synthesis: &Synthesis) -> Note {
        let agreed = (!synthesis.agreed.is_empty()).then_some(("Agreed", &synthesis.agreed));
        let own = synthesis.more.iter().map(|more| (more.name.as_str(), &more.text));
        let own = own.filter(|(name, _)| !ASIDES.contains(name));
        let unsaved = self.unsaved.iter().map(|why| ("Not saved", why));
        let more: String = agreed
            .into_iter()
            .chain(own)
            .chain(unsaved)
            .map(|(name, text)| format!("\n\n**{name}**\n{text}"))
            .collect();
        let params = json!({
            "consensus": synthesis.consensus.as_deref().unwrap_or(CONSENSUS_UNSTATED),
            "synthesis": format!("{}{more}", synthesis.synthesis),
            "differences": synthesis.differences,
            "synthesizer_model": self.id(by),
            "confidence_breakdown": self.breakdown(&synthesis.confidences),
            "message_count": synthesis.messages,
            "method": self.method.name,
        });
        let (name, mut params) = self.note("synthesis", params);
        if synthesis.consensus.is_none() {
            params["consensus_stated"] = json!(false);
        }
        (name, params)
    }

    /// How sure each model is, and how many are how sure; nothing where nobody was asked.
    fn breakdown(&self, confidences: &[Sureness]) -> Map<String, Value> {
        let mut all = Map::new();
        for sure in confidences {
            let id = self.ids.get(sure.seat).unwrap_or(&sure.model);
            all.insert(id.clone(), json!(sure.confidence.score));
        }
        if self.has_confidences {
            let [low, medium, high] = measure::levels(confidences);
            for (level, count) in [("HIGH", high), ("MEDIUM", medium), ("LOW", low)] {
                all.insert(level.into(), json!(count));
            }
        }
        all
    }

    fn run_ended(&mut self, ending: &Ending) -> Vec<Note> {
        match ending {
            Ending::Completed => {
                let mut params = json!({"messages_count": self.messages});
                if let Some(why) = &self.unsaved {
                    params["unsaved"] = json!(why);
                }
                vec![self.note("discussion_complete", params)]
            }
            Ending::Cancelled => vec![self.note("discussion_cancelled", json!({}))],
            // Told together with the answer, which has the same words.
            Ending::Failed(_) => vec![],
        }
    }

    fn from(&self, by: &Turn, name: &'static str, mut params: Value) -> Note {
        params["source"] = json!(self.id(by));
        self.note(name, params)
    }

    fn note(&self, name: &'static str, mut params: Value) -> Note {
        params["discussion_id"] = json!(self.discussion);
        (name, params)
    }

    fn id<'a>(&'a self, turn: &'a Turn) -> &'a str {
        self.ids.get(turn.seat).map_or(turn.model.as_str(), String::as_str)
    }
}

fn title(phase: u32, name: &str) -> String {
    format!("Phase {phase}: {name}")
}

/// A random UUID, version 4.
fn uuid() -> String {
    let bits = fastrand::u128(..) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_assembly::methods;

    /// A prompt that leaves something out tells how much with the speech it was for, and only there.
    #[test]
    fn words_that_a_prompt_left_out_are_told_with_its_speech() {
        let what = |json: Value| serde_json::from_value::<What>(json).unwrap();
        let fitted = |words: u32| {
            let cut = json!({"dropped": 1, "until": 0, "chars": 0});
            what(json!({"type": "turn_noted", "turn": 0, "note": {"fitted": {"model": "m",
                "transcript": "talk", "cut": cut, "dropped": 1, "shortened": 0, "words": words,
                "window": 2048}}}))
        };
        let ended = |turn: u32, outcome: Value| {
            what(json!({"type": "turn_ended", "turn": turn, "phase": 3, "seat": 0, "nth": 0,
                "model": "m", "name": "Ada", "speech": "message", "parallel": false,
                "outcome": outcome}))
        };
        let said = json!({"said": {"text": "so", "parts": {"is": "plain"}, "stop": "end",
            "took_ms": 1}});
        let failed = json!({"failed": {"kind": "network", "message": "gone"}});
        for (outcome, has_failed) in [(said.clone(), json!(null)), (failed, json!(true))] {
            let mut wire = Wire::new(methods::method("standard").unwrap(), vec!["ada".into()]);
            assert_eq!(wire.on(&fitted(40)), []);
            assert_eq!(wire.on(&fitted(90)), []);
            let [(_, params)] = &wire.on(&ended(0, outcome))[..] else { panic!("no event") };
            assert_eq!((&params["words_left_out"], &params["failed"]), (&json!(90), &has_failed));
            let [(_, params)] = &wire.on(&ended(1, said.clone()))[..] else { panic!("no event") };
            assert!(params["words_left_out"].is_null(), "{params}");
        }
    }
}
