//! Tables of scores: writing one, and reading what others wrote.

use super::pen::Pen;
use super::scene::Scene;

/// Rows and columns of a table; more are left out.
const CELLS_MAX: usize = 20;

/// A table for the letters and numbers that `asks` has in brackets.
pub(super) fn table(pen: &Pen<'_>, asks: &str) -> String {
    let columns = listed(asks, 0);
    let rows = listed(asks, 1);
    let head = format!("| | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
    let score = |row: &str, column: &str| {
        let (lean, taste) = (pen.draw_together(column, 4), pen.draw(&format!("{row}{column}"), 6));
        (1 + lean + taste).to_string()
    };
    let line = |row: &String| {
        let scores: Vec<String> = columns.iter().map(|column| score(row, column)).collect();
        format!("| {row} | {} |", scores.join(" | "))
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!("{head}\n{}", lines.join("\n"))
}

/// The items of the `nth` pair of brackets; one item where there is none.
fn listed(asks: &str, nth: usize) -> Vec<String> {
    let inner = asks.split('(').nth(nth + 1).and_then(|rest| rest.split(')').next());
    let items = inner.unwrap_or("1").split(',').map(|item| item.trim().to_string());
    items.filter(|item| !item.is_empty()).take(CELLS_MAX).collect()
}

/// Whether all tables that were shown favour the same column.
pub(super) fn is_aligned(scene: &Scene) -> bool {
    let mut best = scene.others.iter().filter_map(|other| favourite(&other.text));
    let first = best.next();
    first.is_some() && best.all(|column| Some(column) == first)
}

/// The column with the highest sum.
fn favourite(text: &str) -> Option<usize> {
    let mut sums: Vec<u32> = Vec::new();
    for line in text.lines().filter(|line| line.trim_start().starts_with('|')) {
        let cells = line.trim().trim_matches('|').split('|').skip(1).take(CELLS_MAX);
        for (at, cell) in cells.enumerate() {
            sums.resize(sums.len().max(at + 1), 0);
            sums[at] += cell.trim().parse::<u8>().map_or(0, u32::from);
        }
    }
    let best = sums.iter().max().filter(|best| **best > 0)?;
    sums.iter().position(|sum| sum == best)
}

/// The name of the alternative that is said to rank first, else of the first one there is.
pub(super) fn winner(pen: &Pen<'_>) -> String {
    let scene = pen.scene;
    let ranked =
        scene.task.split(" (rank 1)").next().filter(|before| before.len() < scene.task.len());
    let letter = ranked.and_then(|before| before.rsplit(' ').nth(1)).unwrap_or("A");
    let lists = scene.quotes.iter().filter(|(name, _)| name.starts_with("the alternatives"));
    let named = lists.flat_map(|(_, text)| text.lines()).find_map(|line| {
        let name = line.strip_prefix(letter)?.strip_prefix(". ")?;
        Some(super::words::words(name.split(':').next()?).join(" "))
    });
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("Alternative {letter}"))
}
