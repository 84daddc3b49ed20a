//! The first and the last lines of a run: who sits, and what came of it.

use super::{super::flow::Flow, Live};
use crate::terminal::{BAD, BOLD, DIM, GOOD, WARN, heading, paragraph};
use althing_assembly::event::{CONCLUDED_EARLY, Ending, Opening, Said, Synthesis, Totals};
use althing_assembly::measure;
use althing_hub::export;
use althing_stdx::{Kind, text::one_line};

/// The question and the table.
pub(super) fn lineup(live: &Live, opening: &Opening, out: &mut String) {
    let screen = live.screen;
    let mut flow = Flow::new(screen, "");
    flow.push(&opening.question, out);
    flow.end(out);
    let seats: Vec<String> = opening.seats.iter().map(|seat| one_line(&seat.name, 60)).collect();
    let cost = match (opening.estimate_usd, opening.max_cost_usd) {
        (Some(0.0), _) => "free".to_string(),
        (Some(usd), Some(max)) => format!("about ${usd:.2}, stops at ${max:.2}"),
        (Some(usd), None) => format!("about ${usd:.2}, no limit"),
        (None, Some(max)) => format!("price unknown, known costs stop at ${max:.2}"),
        (None, None) => "price unknown, no limit".to_string(),
    };
    let line = format!("{} · {} · {cost} · run {}", opening.method, seats.join(", "), live.run);
    out.push_str(&paragraph(screen, DIM, &line));
}

/// What a model asked to be called, a JSON line each.
pub fn tool_calls(said: &Said) -> String {
    let lines = said.tool_calls.iter().filter_map(|call| serde_json::to_string(call).ok());
    lines.map(|line| line + "\n").collect()
}

/// How the run ended, what it used, and what to do next.
pub(super) fn ending(live: &Live, ending: &Ending, totals: &Totals, out: &mut String) {
    let screen = live.screen;
    // Of a single answer the command says it, on standard error.
    if live.is_plain() {
        return;
    }
    match ending {
        Ending::Completed => {}
        Ending::Cancelled => {
            out.push_str(&format!(
                "\n{} Go on with: althing resume {}\n",
                screen.paint(WARN, "Stopped and saved."),
                live.run
            ));
        }
        Ending::Failed(failure) => {
            out.push_str(&format!("\n{}", paragraph(screen, BAD, &failure.message)));
            // Without them the same end would come again at once.
            let more = match failure.kind {
                Kind::CostLimit => "--max-cost MORE",
                _ => "--retry-failed",
            };
            out.push_str(&format!("Saved. Go on with: althing resume {} {more}\n", live.run));
        }
    }
    out.push_str(&format!("\n{}", paragraph(screen, DIM, &export::totals(totals))));
}

/// How far they agree and how sure they are: the last thing a person reads.
pub(super) fn verdict(live: &Live, synthesis: &Synthesis, out: &mut String) {
    let screen = live.screen;
    let consensus = synthesis.consensus.as_deref().unwrap_or("not stated");
    let style = match consensus {
        "YES" => GOOD,
        "NO" => BAD,
        _ => WARN,
    };
    out.push_str(&format!("\n{}\n", heading(screen, '═', "In the end")));
    let consensus = screen.paint(style, &one_line(consensus, 60));
    out.push_str(&format!("\n{}  {consensus}\n", screen.paint(BOLD, "Consensus ")));
    if synthesis.debated {
        let note = "The judge had argued for a side; it read the transcript without names.";
        out.push_str(&format!("            {}\n", screen.paint(DIM, note)));
    }
    for (at, line) in how_sure(synthesis).iter().enumerate() {
        let title = if at == 0 { screen.paint(BOLD, "Confidence") } else { " ".repeat(10) };
        out.push_str(&format!("{title}  {line}\n"));
    }
    if let Some(early) = synthesis.more.iter().find(|more| more.name == CONCLUDED_EARLY) {
        let line = format!("{}: {}", early.name, early.text);
        out.push_str(&format!("\n{}", paragraph(screen, WARN, &line)));
    }
}

/// The mean and one line per voice; what to say where nobody gave a number.
fn how_sure(synthesis: &Synthesis) -> Vec<String> {
    let unstated = synthesis.unstated.iter();
    let unstated = unstated.map(|name| format!("  - not stated  {}", one_line(name, 60)));
    let Some(mean) = measure::mean(&synthesis.confidences) else {
        return match synthesis.unstated.is_empty() {
            true => vec!["not asked for by this method".into()],
            false => ["nobody stated one".into()].into_iter().chain(unstated).collect(),
        };
    };
    let voices = synthesis.confidences.iter().map(|sure| {
        let level = format!("{:?}", sure.confidence.level).to_uppercase();
        format!("{:>3} {level:<6}  {}", sure.confidence.score, one_line(&sure.name, 60))
    });
    [format!("{mean} of 100 together")].into_iter().chain(voices).chain(unstated).collect()
}
