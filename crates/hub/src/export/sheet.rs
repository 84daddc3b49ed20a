//! The order of a document, once for all formats. A format knows only how each piece is dressed,
//! and must let nothing untrusted out of its dress.

use super::account::{Account, Line};
use super::words;
use althing_stdx::text::{one_line, printable};

/// Characters of the title; a longer question stands below it in full.
const TITLE_CHARS: usize = 100;
/// Characters of a single-line piece, such as a failure.
const LINE_CHARS: usize = 2000;

/// How a format dresses the pieces. Every text comes in safe for a terminal and nothing more:
/// single lines without a line break, passages with them.
pub(super) trait Sheet {
    fn title(&mut self, line: &str);
    /// A fact with its name.
    fn fact(&mut self, name: &str, line: &str);
    fn heading(&mut self, line: &str);
    /// Who speaks, below a heading.
    fn speaker(&mut self, line: &str);
    /// The name of the passage that follows.
    fn label(&mut self, line: &str);
    /// What somebody said.
    fn passage(&mut self, text: &str);
    /// What there is to say about it.
    fn remark(&mut self, line: &str);
}

/// Writes the whole account.
pub(super) fn write(account: &Account, sheet: &mut dyn Sheet) {
    let title = one_line(&account.question, TITLE_CHARS);
    sheet.title(&title);
    if title != account.question.trim() {
        sheet.passage(&printable(&account.question));
    }
    if account.has_demo() {
        sheet.remark(words::DEMO_NOTE);
    }
    facts(account, sheet);
    if let Some(plan) = &account.plan {
        sheet.heading("Plan");
        sheet.passage(&printable(&plan.markdown));
    }
    result(account, sheet);
    participants(account, sheet);
    for phase in &account.phases {
        // The synthesis stands at the top.
        let lines = phase.lines.iter().filter(|line| line.synthesis().is_none());
        let lines: Vec<&Line> = lines.collect();
        if !lines.is_empty() {
            sheet.heading(&one_line(&format!("{}. {}", phase.number, phase.name), LINE_CHARS));
        }
        lines.into_iter().for_each(|line| speech(line, sheet));
    }
}

/// Where a plan comes from: the facts of its run and who sat there.
pub(super) fn origin(account: &Account, sheet: &mut dyn Sheet) {
    sheet.heading("Run");
    facts(account, sheet);
    participants(account, sheet);
}

fn participants(account: &Account, sheet: &mut dyn Sheet) {
    sheet.heading("Participants");
    for seat in &account.seats {
        let mark = if seat.demo { " (demo)" } else { "" };
        let stance = seat.stance.as_ref().map(|it| format!(", asked to be: {it}"));
        let model = format!("{}{mark}{}", seat.model, stance.unwrap_or_default());
        fact(sheet, &seat.name, &model);
    }
}

fn facts(account: &Account, sheet: &mut dyn Sheet) {
    fact(sheet, "Run", &account.run);
    fact(sheet, "Method", &account.method);
    if let Some(earlier) = &account.continues {
        fact(sheet, "Continues", earlier);
    }
    if !account.context.is_empty() {
        fact(sheet, "Files", &account.context.join(", "));
    }
    let (from, to) = (words::when(account.started_at_ms), words::when(account.updated_at_ms));
    fact(sheet, "Time", &if from == to { from } else { format!("{from} to {to}") });
    match account.resumed {
        0 => {}
        1 => fact(sheet, "Resumed", "once"),
        times => fact(sheet, "Resumed", &format!("{times} times")),
    }
    fact(sheet, "Ending", &words::ending(account.ending.as_ref()));
    fact(sheet, "Totals", &words::totals(&account.totals));
    account.warnings.iter().for_each(|warning| fact(sheet, "Warning", warning));
}

fn result(account: &Account, sheet: &mut dyn Sheet) {
    let Some((line, synthesis)) = account.synthesis() else { return };
    sheet.heading("Result");
    speech(line, sheet);
    if synthesis.debated {
        sheet.remark("The one who wrote this had argued for a side.");
    }
    if synthesis.confidences.is_empty() && synthesis.unstated.is_empty() {
        return;
    }
    sheet.heading("Confidence");
    for sure in account.confidences() {
        let is_demo = account.seats.get(sure.seat).is_some_and(|seat| seat.demo);
        let mark = if is_demo { " (demo)" } else { "" };
        fact(sheet, &format!("{}{mark}", sure.name), &words::confidence(sure.confidence));
    }
    for name in &synthesis.unstated {
        fact(sheet, name, "not stated");
    }
    let mean = account.confidence_mean().map(|mean| mean.to_string());
    fact(sheet, "Mean", mean.as_deref().unwrap_or("nobody stated one"));
}

fn speech(line: &Line, sheet: &mut dyn Sheet) {
    sheet.speaker(&one_line(&line.title(), LINE_CHARS));
    for section in line.sections() {
        if let Some(label) = section.label {
            sheet.label(&one_line(label, LINE_CHARS));
        }
        sheet.passage(&printable(section.text));
    }
    for remark in line.remarks() {
        sheet.remark(&one_line(&remark, LINE_CHARS));
    }
}

fn fact(sheet: &mut dyn Sheet, name: &str, line: &str) {
    sheet.fact(&one_line(name, LINE_CHARS), &one_line(line, LINE_CHARS));
}
