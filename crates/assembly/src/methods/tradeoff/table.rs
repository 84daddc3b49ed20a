//! Reads the table of scores out of an evaluation.

use super::Board;
use crate::measure::Scores;
use crate::methods::list::Item;
use crate::number::read_written;

/// Scores are from 1 to this.
const SCORE_MAX: f64 = 10.0;

/// The scores in `text`, by criterion and alternative; none where there is no table of them. Rows
/// may be the criteria, as asked, or the alternatives.
pub(super) fn read(text: &str, board: &Board) -> Option<Scores> {
    let Board { alternatives, criteria } = board;
    let mut scores: Scores = vec![vec![None; alternatives.len()]; criteria.len()];
    let mut head: Option<Head> = None;
    for cells in text.lines().filter_map(cells) {
        if let Some(found) = Head::read(&cells, board) {
            head = Some(found);
            continue;
        }
        let head = head.get_or_insert_with(|| Head::of_letters(alternatives.len()));
        let (rows, letter) = if head.is_turned { (alternatives, true) } else { (criteria, false) };
        let Some(row) = find(&cells[0], rows, letter) else { continue };
        for (cell, column) in cells[1..].iter().zip(&head.columns) {
            let Some(column) = *column else { continue };
            let (criterion, alternative) =
                if head.is_turned { (column, row) } else { (row, column) };
            let slot = &mut scores[criterion][alternative];
            *slot = slot.or_else(|| score(cell));
        }
    }
    scores.iter().flatten().any(Option::is_some).then_some(scores)
}

/// What the columns after the first are.
struct Head {
    columns: Vec<Option<usize>>,
    /// Columns are criteria.
    is_turned: bool,
}

impl Head {
    /// A table without a head, in the order that was asked for.
    fn of_letters(count: usize) -> Head {
        Head { columns: (0..count).map(Some).collect(), is_turned: false }
    }

    fn read(cells: &[String], board: &Board) -> Option<Head> {
        let columns = |items: &[Item], letter| -> Vec<Option<usize>> {
            cells[1..].iter().map(|cell| find(cell, items, letter)).collect()
        };
        let known = |columns: &[Option<usize>]| columns.iter().flatten().count();
        let by_letter = columns(&board.alternatives, true);
        if known(&by_letter) > 0 {
            return Some(Head { columns: by_letter, is_turned: false });
        }
        // `| A | 7 | 5 |` is a row of scores, not a head of criteria 7 and 5.
        let is_row = find(&cells[0], &board.alternatives, true).is_some()
            || find(&cells[0], &board.criteria, false).is_some();
        let by_number = columns(&board.criteria, false);
        let is_head = !is_row && known(&by_number) > 0;
        is_head.then_some(Head { columns: by_number, is_turned: true })
    }
}

/// The cells of a table row; none for other lines and for the rule under a head.
fn cells(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let cells: Vec<String> =
        inner.split('|').map(|cell| cell.trim_matches(['*', '_', '`', ' ']).to_string()).collect();
    let is_rule = inner.chars().all(|c| matches!(c, '-' | ':' | '|' | ' '));
    (cells.len() > 1 && !is_rule).then_some(cells)
}

/// Which item a cell names: by its name, or by its letter (`A`, `Alternative A`) or number (`1.`,
/// `C1`, `Criterion 1`).
fn find(cell: &str, items: &[Item], letter: bool) -> Option<usize> {
    if let Some(at) = items.iter().position(|item| item.is(cell)) {
        return Some(at);
    }
    let mut words = cell.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?.to_uppercase();
    let key = match first.as_str() {
        "ALTERNATIVE" | "OPTION" | "CRITERION" => words.next()?.to_uppercase(),
        _ => first,
    };
    let at = match letter {
        true if key.len() == 1 => usize::from(key.bytes().next()?.checked_sub(b'A')?),
        true => return None,
        false => key.strip_prefix('C').unwrap_or(&key).parse::<usize>().ok()?.checked_sub(1)?,
    };
    (at < items.len()).then_some(at)
}

/// The first number of a cell, if it is a score: `7`, `7.5`, `7,5`, `8/10`. A range such as `1-10` is none.
fn score(cell: &str) -> Option<f64> {
    let start = cell.find(|c: char| c.is_ascii_digit())?;
    let (before, text) = cell.split_at(start);
    let (number, rest) = read_written(text)?;
    // A score has no thousands.
    let number = number.value(&['.', ','], &[]);
    let next = rest.trim_start();
    let joints = ["to ", "-", "\u{2013}", "\u{2014}"];
    let other = joints.iter().find_map(|joint| next.strip_prefix(joint)).unwrap_or_default();
    let is_range = other.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let is_negative = before.ends_with(['-', '\u{2212}']);
    let is_score = (1.0..=SCORE_MAX).contains(&number) && !is_range && !is_negative;
    is_score.then_some(number)
}
