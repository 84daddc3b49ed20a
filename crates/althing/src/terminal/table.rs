//! Columns that line up.

use super::Screen;
use althing_stdx::text::{one_line, printable};
use unicode_width::UnicodeWidthStr;

/// Characters of a cell.
const CELL_CHARS_MAX: usize = 400;

/// Rows under each other. Cells are made printable and one line each.
pub fn table(rows: &[Vec<String>]) -> String {
    lines(rows, usize::MAX)
}

/// As [`table`], with what does not fit a live screen cut at its right edge: for a last column of
/// which the beginning tells enough.
pub fn cut_table(screen: Screen, rows: &[Vec<String>]) -> String {
    lines(rows, if screen.live { screen.columns } else { usize::MAX })
}

/// Texts of one line each as they are, with cells before them.
pub fn headed(rows: Vec<(Vec<String>, String)>) -> String {
    let row = |(cells, text): (Vec<String>, String)| -> Vec<String> {
        one_lined(&cells).chain([printable(&text)]).collect()
    };
    aligned(&rows.into_iter().map(row).collect::<Vec<_>>(), usize::MAX)
}

fn lines(rows: &[Vec<String>], columns_max: usize) -> String {
    aligned(&rows.iter().map(|row| one_lined(row).collect()).collect::<Vec<_>>(), columns_max)
}

fn one_lined(cells: &[String]) -> impl Iterator<Item = String> {
    cells.iter().map(|cell| one_line(cell, CELL_CHARS_MAX))
}

fn aligned(cells: &[Vec<String>], columns_max: usize) -> String {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in cells {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                line.push_str(&" ".repeat(widths[column] - cell.width() + 2));
            }
        }
        out.push_str(cut(line.trim_end(), columns_max));
        out.push('\n');
    }
    out
}

fn cut(line: &str, columns: usize) -> &str {
    let mut used = 0;
    let over = line.char_indices().find(|(_, c)| {
        used += unicode_width::UnicodeWidthChar::width(*c).unwrap_or(0);
        used > columns
    });
    over.map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_cut() {
        let rows = [
            vec!["a".into(), "東京".into(), "x\ny".into()],
            vec!["bbb".into(), "c".into(), "z".repeat(60)],
        ];
        let narrow = Screen { live: true, colour: false, columns: 20 };
        assert_eq!(
            cut_table(narrow, &rows),
            format!("a    東京  x y\nbbb  c     {}\n", "z".repeat(9))
        );
    }

    #[test]
    fn a_text_behind_cells_is_whole() {
        let long = format!("    File \u{1b}[x {}", "z".repeat(600));
        let rows = vec![(vec!["a".into()], "b".into()), (vec!["cc".into()], long.clone())];
        assert_eq!(headed(rows), format!("a   b\ncc  {}\n", printable(&long)));
    }
}
