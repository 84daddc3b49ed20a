//! Numbers about a discussion that do not come from a model.

use crate::event::{Level, Parts, Sureness};
use crate::floor::Spoken;
use crate::number::{Written, read_written};
use std::collections::BTreeMap;

/// The last confidence each seat stated in `speeches`, in seat order.
pub fn confidences(speeches: &[Spoken]) -> Vec<Sureness> {
    let mut last: Vec<Sureness> = Vec::new();
    for speech in speeches {
        let (Parts::Position { confidence, .. } | Parts::Estimate { confidence, .. }) =
            &speech.parts
        else {
            continue;
        };
        let Some(confidence) = *confidence else { continue };
        last.retain(|sure| sure.seat != speech.seat);
        let (model, name) = (speech.model.clone(), speech.name.clone());
        last.push(Sureness { seat: speech.seat, model, name, confidence });
    }
    last.sort_by_key(|sure| sure.seat);
    last
}

/// Names of those in `speeches` who were asked for a confidence and never stated one.
pub fn unstated(speeches: &[Spoken]) -> Vec<String> {
    let stated = confidences(speeches);
    let mut names: Vec<String> = Vec::new();
    for speech in speeches {
        let is_asked = matches!(speech.parts, Parts::Position { .. } | Parts::Estimate { .. });
        let is_stated = stated.iter().any(|sure| sure.seat == speech.seat);
        if is_asked && !is_stated && !names.contains(&speech.name) {
            names.push(speech.name.clone());
        }
    }
    names
}

/// Mean of the scores, rounded; none where nobody stated one.
pub fn mean(confidences: &[Sureness]) -> Option<u8> {
    let sum: u32 = confidences.iter().map(|sure| u32::from(sure.confidence.score)).sum();
    let count = confidences.len() as u32;
    (count > 0).then(|| ((sum + count / 2) / count) as u8)
}

/// How many said LOW, MEDIUM and HIGH.
pub fn levels(confidences: &[Sureness]) -> [u32; 3] {
    let mut counts = [0; 3];
    for sure in confidences {
        counts[match sure.confidence.level {
            Level::Low => 0,
            Level::Medium => 1,
            Level::High => 2,
        }] += 1;
    }
    counts
}

/// What the votes gave an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote {
    pub item: usize,
    /// Ballots it is on.
    pub picks: u32,
    /// As many as places for a first place, one less for each place below.
    pub points: u32,
}

/// Places of a ballot that count.
const PLACES: usize = 3;

/// Counts ballots, each a list of items with the best first: most points first, then most picks,
/// then the lower number.
pub fn tally(ballots: &[Vec<usize>]) -> Vec<Vote> {
    let mut votes: BTreeMap<usize, Vote> = BTreeMap::new();
    for ballot in ballots {
        for (place, item) in ballot.iter().take(PLACES).enumerate() {
            let vote = votes.entry(*item).or_insert(Vote { item: *item, picks: 0, points: 0 });
            vote.picks += 1;
            vote.points += (PLACES - place) as u32;
        }
    }
    let mut votes: Vec<Vote> = votes.into_values().collect();
    votes.sort_by_key(|vote| std::cmp::Reverse((vote.points, vote.picks)));
    votes
}

/// One participant's scores from 1 to 10, by criterion and alternative.
pub type Scores = Vec<Vec<Option<f64>>>;

/// Where an alternative stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    pub alternative: usize,
    pub mean: f64,
    /// From 1; equal means share a rank.
    pub rank: usize,
}

/// The alternatives by their mean, best first. Every criterion weighs the same however many scored
/// it; an alternative nobody scored has no rank.
pub fn ranks(tables: &[Scores]) -> Vec<Rank> {
    let alternatives = tables.iter().flatten().map(Vec::len).max().unwrap_or(0);
    let criteria = tables.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |criterion: usize, alternative: usize| {
        let cells = tables.iter().map(move |table| *table.get(criterion)?.get(alternative)?);
        average(cells.flatten())
    };
    let mean =
        |alternative| average((0..criteria).filter_map(|criterion| cell(criterion, alternative)));
    let found = (0..alternatives).filter_map(|at| Some((at, mean(at)?)));
    let mut ranks: Vec<Rank> =
        found.map(|(alternative, mean)| Rank { alternative, mean, rank: 0 }).collect();
    ranks.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let means: Vec<f64> = ranks.iter().map(|rank| rank.mean).collect();
    for rank in &mut ranks {
        rank.rank = 1 + means.iter().filter(|mean| **mean > rank.mean).count();
    }
    ranks
}

fn average(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0u32), |(sum, count), n| (sum + n, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// How far figures lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Estimates that have a figure.
    pub count: usize,
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

/// Returns the spread of the figures in `estimates`; none where fewer than two have one, or where
/// they are not all in one unit.
pub fn spread<'a>(estimates: impl IntoIterator<Item = &'a str>) -> Option<Spread> {
    let figures: Vec<(Written, String)> = estimates.into_iter().filter_map(figure).collect();
    let unit = &figures.first()?.1;
    if figures.len() < 2 || figures.iter().any(|(_, other)| other != unit) {
        return None;
    }
    let written = || figures.iter().map(|(number, _)| number);
    let decimals: Vec<char> = written().filter_map(|it| it.decimal_mark).collect();
    let groups: Vec<char> = written().filter_map(|it| it.group_mark).collect();
    let mut numbers: Vec<f64> = written().map(|it| it.value(&decimals, &groups)).collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let median = match numbers.len() % 2 {
        1 => numbers[middle],
        _ => (numbers[middle - 1] + numbers[middle]) / 2.0,
    };
    let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
    Some(Spread { count: numbers.len(), low, median, high })
}

/// The figure in the first line of an estimate and its unit: the sign before it and the word or
/// sign after it. A range is not a figure, nor are several numbers or a fraction, and neither is the
/// number of a list's item.
fn figure(estimate: &str) -> Option<(Written, String)> {
    let line = strip_list_mark(estimate.trim().lines().next()?);
    let start = line.find(|c: char| c.is_ascii_digit())?;
    let (number, rest) = read_written(&line[start..])?;
    let rest = rest.trim_start();
    let mut next = rest.trim_start_matches(['-', '–', '—', '/', ' ']);
    next = next.strip_prefix("to ").unwrap_or(next);
    if next.len() < rest.len() && next.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let before = &line[..start];
    let money = before.trim_end().chars().next_back().filter(|c| CURRENCIES.contains(*c));
    let sign = money.or_else(|| before.chars().next_back().filter(|c| "-−".contains(*c)));
    let word = match rest.chars().next() {
        Some('%') => "%".to_string(),
        // A sign means the same on either side.
        Some(money) if CURRENCIES.contains(money) && sign.is_none() => money.to_string(),
        _ => rest.chars().take_while(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect(),
    };
    let unit = sign.map(String::from).unwrap_or_default() + word.trim_end_matches('s');
    Some((number, unit))
}

const CURRENCIES: &str = "$€£¥₹";

/// Strips the `1.` or `2)` of a list from the front of a line of words.
fn strip_list_mark(line: &str) -> &str {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = behind.strip_prefix(['.', ')']).filter(|_| behind.len() < line.len());
    let is_item =
        |rest: &&str| rest.starts_with(' ') && rest.trim_start().starts_with(char::is_alphabetic);
    item.filter(is_item).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballots_are_counted_by_points_then_picks_then_number() {
        let votes = tally(&[vec![4, 2, 1], vec![2, 4], vec![7], vec![], vec![9, 9, 9, 1]]);
        let shown: Vec<_> = votes.iter().map(|v| (v.item, v.picks, v.points)).collect();
        assert_eq!(shown, [(9, 3, 6), (2, 2, 5), (4, 2, 5), (7, 1, 3), (1, 1, 1)]);
        assert!(tally(&[]).is_empty());
    }

    #[test]
    fn criteria_weigh_the_same_however_many_scored_them() {
        let one = vec![vec![Some(8.0), Some(2.0)], vec![Some(4.0), None]];
        let two = vec![vec![Some(6.0), Some(8.0)], vec![None, Some(5.0)]];
        let shown: Vec<_> =
            ranks(&[one, two]).iter().map(|r| (r.alternative, r.mean, r.rank)).collect();
        assert_eq!(shown, [(0, 5.5, 1), (1, 5.0, 2)]);
        let even = vec![vec![Some(5.0), None, Some(5.0), Some(1.0)]];
        let shown: Vec<_> = ranks(&[even]).iter().map(|r| (r.alternative, r.rank)).collect();
        assert_eq!(shown, [(0, 1), (2, 1), (3, 3)]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn only_figures_in_one_unit_have_a_spread() {
        #[track_caller]
        fn check(estimates: &[&str], want: Option<(f64, f64, f64)>) {
            let got = spread(estimates.iter().copied()).map(|s| (s.low, s.median, s.high));
            assert_eq!(got, want, "{estimates:?}");
        }
        check(&["12 weeks", "about 8 weeks", "1 week"], Some((1.0, 8.0, 12.0)));
        check(&["40 %", "50%"], Some((40.0, 45.0, 50.0)));
        check(&["$1,200", "$900.50, I think"], Some((900.5, 1050.25, 1200.0)));
        check(&["$5", "5 dollars"], None);
        let euro = ["1.000 Euro", "2.500 Euro, denke ich", "3000 Euro"];
        check(&euro, Some((1000.0, 2500.0, 3000.0)));
        check(&["1.250 h", "2.5 h", "0.75 h"], Some((0.75, 1.25, 2.5)));
        check(&["1 200,50 €", "€ 900", "1.000,00 €"], Some((900.0, 1000.0, 1200.5)));
        check(&["₹1,00,000", "₹ 2,50,000"], Some((100_000.0, 175_000.0, 250_000.0)));
        check(&["1.000 / 2.500 / 3000 Euro", "1 Euro"], None);
        check(&["10-20 weeks", "8 weeks"], None);
        check(&["10 to 20 weeks", "8 weeks"], None);
        check(&["soon", "8 weeks"], None);
        check(&["soon", "8 weeks", "5-9 weeks", "12 weeks"], Some((8.0, 10.0, 12.0)));
        check(
            &["1. I think so", "1. I think 8 weeks", "2) about 12 weeks"],
            Some((8.0, 10.0, 12.0)),
        );
        check(&["1. I think so", "2. So do I"], None);
        check(&["8 weeks"], None);
        check(&["3 million", "2 billion"], None);
        check(&[], None);
    }
}
