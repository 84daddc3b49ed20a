//! Finds periods at the end of a text.

use super::count::count_steps;

/// Repetitions from which on a tail counts as periodic.
const PERIODS_MIN: usize = 4;

/// Returns the periods at the end of `tail`, shortest first, each with how many bytes at the end
/// have it.
pub(super) fn find_periods(tail: &[u8]) -> Vec<(usize, usize)> {
    let tail: Vec<u8> = tail.iter().rev().copied().collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, border) in find_borders(&tail).into_iter().enumerate() {
        let (length, period) = (at + 1, at + 1 - border);
        if length < period * PERIODS_MIN {
            continue;
        }
        // A longer part of the tail never has a shorter period.
        match found.last_mut() {
            Some(last) if last.0 == period => last.1 = length,
            _ => found.push((period, length)),
        }
    }
    found
}

/// Returns for each beginning of `bytes` how long its longest border is: the part, shorter than the
/// whole, that it both begins and ends with. The rest is its smallest period.
fn find_borders(bytes: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; bytes.len()];
    let mut steps = bytes.len();
    for end in 1..bytes.len() {
        let mut border: usize = borders[end - 1];
        while border > 0 && bytes[border] != bytes[end] {
            steps += 1;
            border = borders[border - 1];
        }
        borders[end] = border + usize::from(bytes[border] == bytes[end]);
    }
    count_steps(steps);
    borders
}
