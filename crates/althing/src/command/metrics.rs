//! `metrics`: what was asked of the service, and what it cost.

use super::reach::Reach;
use super::{Desk, print};
use crate::terminal::Screen;
use crate::watch::Stops;
use crate::{args, printer};
use althing_hub::log::now_ms;
use althing_hub::service::words::Snapshot;
use althing_stdx::Result;
use std::time::Duration;

/// How often `--watch` looks again.
const EVERY: Duration = Duration::from_secs(2);
/// Columns of the chart at most, and where nothing tells the width.
const COLUMNS_MAX: usize = 72;
/// Bars from nothing to the most.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub async fn metrics(args: args::Metrics) -> Result<()> {
    let desk = Desk::open();
    let reach = desk.reach().await?;
    if !args.watch {
        let (start, minutes) = look(&reach, args.since).await?;
        return print(&if args.json {
            minutes.iter().map(line).collect()
        } else {
            page(desk.screen, start, args.since, &minutes)
        });
    }
    let mut stops = Stops::new()?;
    loop {
        let (start, minutes) = look(&reach, args.since).await?;
        let page = page(desk.screen, start, args.since, &minutes);
        // A reader who has not taken the page before gets the next one.
        if printer::is_idle() {
            // Home and clear below: the page is drawn over the one before.
            printer::print(if desk.screen.live { format!("\x1b[H\x1b[2J{page}") } else { page });
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stops.next() => return printer::finish(false).await,
            failure = printer::failed() => return printer::fault_of(failure),
        }
    }
}

async fn look(reach: &Reach, since: Duration) -> Result<(i64, Vec<Snapshot>)> {
    let now = now_ms() as i64;
    let start = now - since.as_millis() as i64;
    let minutes = match reach {
        Reach::There(client) => client.range(start, now + 1).await?,
        Reach::Here(service) => service.metrics.range(start, now + 1).await?,
    };
    Ok((start, minutes))
}

/// The sums, and a chart of requests over time.
fn page(screen: Screen, start: i64, since: Duration, minutes: &[Snapshot]) -> String {
    let sum = |of: fn(&Snapshot) -> i64| minutes.iter().map(of).sum::<i64>();
    let requests = sum(|it| it.requests_total);
    if requests == 0 {
        return format!("No requests in the last {}.\n", words(since));
    }
    let columns = if screen.live { screen.columns.min(COLUMNS_MAX) } else { COLUMNS_MAX };
    let bars = chart(start, since, minutes, columns);
    let most = bars.iter().max().copied().unwrap_or(0);
    let drawn: String = bars.iter().map(|count| bar(*count, most)).collect();
    format!(
        "Requests in the last {}: {requests} ({} failed)\n{drawn}▏ at most {most} per column\n\
         Tokens: {} in{}, {} out\nCost: {}\n",
        words(since),
        sum(|it| it.requests_failed),
        sum(|it| it.prompt_tokens_total),
        match sum(|it| it.cached_tokens_total) {
            0 => String::new(),
            cached => format!(" ({cached} cached)"),
        },
        sum(|it| it.completion_tokens_total),
        cost(minutes)
    )
}

/// Unknown prices are unknown, never 0.
fn cost(minutes: &[Snapshot]) -> String {
    let unpriced: i64 = minutes.iter().map(|it| it.requests_unpriced).sum();
    let known: Vec<f64> = minutes.iter().filter_map(|it| it.cost_total).collect();
    let sum = (!known.is_empty()).then(|| format!("${:.4}", known.iter().sum::<f64>()));
    match (sum, unpriced) {
        (Some(sum), 0) => sum,
        (Some(sum), unpriced) => format!("{sum}, and {unpriced} requests of unknown price"),
        (None, _) => "unknown".into(),
    }
}

/// Requests per column.
fn chart(start: i64, since: Duration, minutes: &[Snapshot], columns: usize) -> Vec<i64> {
    let span = (since.as_millis() as i64).max(1);
    let mut bars = vec![0; columns.max(1)];
    for minute in minutes {
        let at = (minute.window_start_ms - start).clamp(0, span - 1);
        let column = (at as i128 * bars.len() as i128 / span as i128) as usize;
        bars[column] += minute.requests_total;
    }
    bars
}

/// A request is never drawn as nothing.
fn bar(count: i64, most: i64) -> char {
    let step = (count * 8).checked_div(most).unwrap_or(0);
    BARS[if count > 0 { step.clamp(1, 8) } else { 0 } as usize]
}

fn words(span: Duration) -> String {
    match span.as_secs() {
        s if s % 86_400 == 0 => format!("{} d", s / 86_400),
        s if s % 3600 == 0 => format!("{} h", s / 3600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

fn line(it: &Snapshot) -> String {
    let line = serde_json::json!({
        "window_start_ms": it.window_start_ms, "window_end_ms": it.window_end_ms,
        "requests_total": it.requests_total, "requests_failed": it.requests_failed,
        "prompt_tokens_total": it.prompt_tokens_total,
        "cached_tokens_total": it.cached_tokens_total,
        "completion_tokens_total": it.completion_tokens_total,
        "cost_total": it.cost_total, "requests_unpriced": it.requests_unpriced,
    });
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at_ms: i64, requests: i64, cost: Option<f64>, unpriced: i64) -> Snapshot {
        Snapshot {
            window_start_ms: at_ms,
            requests_total: requests,
            cost_total: cost,
            requests_unpriced: unpriced,
            ..Snapshot::default()
        }
    }

    #[test]
    fn columns_have_what_falls_into_them() {
        let minutes =
            [minute(1_000, 1, None, 0), minute(61_000, 8, None, 0), minute(0, 2, None, 0)];
        assert_eq!(chart(1_000, Duration::from_secs(120), &minutes, 4), [3, 0, 8, 0]);
        let drawn: String = [3, 0, 8, 0].map(|count| bar(count, 8)).iter().collect();
        assert_eq!(drawn, "▃ █ ");
        assert_eq!((bar(1, 1_000), bar(0, 0)), ('▁', ' '));
    }

    #[test]
    fn an_unknown_price_is_no_zero() {
        assert_eq!(cost(&[minute(0, 1, None, 1)]), "unknown");
        assert_eq!(cost(&[minute(0, 1, Some(0.5), 0)]), "$0.5000");
        let mixed = [minute(0, 1, Some(0.5), 0), minute(0, 2, None, 2)];
        assert_eq!(cost(&mixed), "$0.5000, and 2 requests of unknown price");
    }
}
