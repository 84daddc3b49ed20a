//! The progress of a download: a line that moves where a person watches, else a line now and then.

use super::status::cut;
use super::{DIM, Screen, paragraph};
use althing_hub::pull::{PullEvent, format_bytes};
use std::time::Duration;
use tokio::time::Instant;

/// How often the line moves.
pub const TICK: Duration = Duration::from_millis(100);
/// Where nobody watches: a line after so much of the file, in percent.
const STEP_PERCENT: u64 = 10;
/// Columns of the bar, where there is room, and below which it is left out.
const BAR_MAX: usize = 24;
const BAR_MIN: usize = 6;
/// Nothing has come for so long: the rate of before says nothing any more.
const STANDSTILL: Duration = Duration::from_secs(2);
/// How much of the rate shown is that of the last moments.
const RECENT: f64 = 0.3;
/// How long the rate is measured before it counts.
const SAMPLE: Duration = Duration::from_millis(500);

/// Shows one download after another on standard error.
pub struct DownloadView {
    screen: Screen,
    began: Instant,
    meter: RateMeter,
    /// When the line was last drawn; none while it is not on the screen.
    drawn: Option<Duration>,
    /// The step that was last written, of the part that is loading.
    step: Option<(usize, u64)>,
    /// How far it was at last, and since when.
    last: Option<(Bar, Duration)>,
    has_begun: bool,
}

impl DownloadView {
    pub fn new(screen: Screen) -> DownloadView {
        let (began, meter) = (Instant::now(), RateMeter::default());
        let (drawn, step, last) = (None, None, None);
        DownloadView { screen, began, meter, drawn, step, last, has_begun: false }
    }

    /// Shows what happened.
    pub fn on(&mut self, event: PullEvent) {
        let text = self.render(&event, self.began.elapsed());
        write(&text);
    }

    /// Draws the line anew: the terminal may be wider by now, and what stands still is told.
    pub fn tick(&mut self) {
        if self.screen.live {
            self.screen.columns = Screen::stderr().columns;
        }
        let text = self.render_tick(self.began.elapsed());
        write(&text);
    }

    /// Leaves the line as it is; tells whether anything has come.
    pub fn end(&mut self) -> bool {
        if self.drawn.take().is_some() {
            write("\n");
        }
        self.has_begun
    }

    fn render(&mut self, event: &PullEvent, now: Duration) -> String {
        match event {
            PullEvent::Note(text) => self.line(text),
            PullEvent::Resuming { done, total } => {
                self.has_begun = true;
                let (done, total) = (format_bytes(*done), format_bytes(*total));
                self.line(&format!("{done} of {total} are here already; checking them …"))
            }
            PullEvent::Retrying { why, pause } => {
                let seconds = pause.as_secs_f64();
                self.line(&format!("{why}; trying again in {seconds:.1} s"))
            }
            PullEvent::Verifying => String::new(),
            PullEvent::Loading { part, parts, done, total } => {
                self.has_begun = true;
                self.meter.on(*done, now);
                let bar = Bar { part: *part, parts: *parts, done: *done, total: *total };
                let since = match self.last {
                    Some((last, since)) if last == bar => since,
                    _ => now,
                };
                self.last = Some((bar, since));
                match self.screen.live {
                    true => self.draw(&bar, now),
                    false => self.write_step(&bar),
                }
            }
        }
    }

    fn render_tick(&mut self, now: Duration) -> String {
        match self.last {
            Some((bar, _)) if self.drawn.is_some() && bar.done < bar.total => self.draw(&bar, now),
            _ => String::new(),
        }
    }

    /// A line of its own; a bar that is on the screen is wiped for it.
    fn line(&mut self, text: &str) -> String {
        let wipe = if self.drawn.take().is_some() { "\r\x1b[K" } else { "" };
        format!("{wipe}{}", paragraph(self.screen, DIM, text))
    }

    fn draw(&mut self, bar: &Bar, now: Duration) -> String {
        let is_due = self.drawn.is_none_or(|drawn| now.saturating_sub(drawn) >= TICK);
        if !is_due && bar.done < bar.total {
            return String::new();
        }
        self.drawn = Some(now);
        let is_still = self.last.is_some_and(|(_, since)| now.saturating_sub(since) >= STANDSTILL);
        let figures = match is_still && bar.done < bar.total {
            true => format!("{} · waiting", bar.figures(None)),
            false => bar.figures(self.meter.rate),
        };
        // The last column stays free: a full line would wrap and could not be wiped.
        let columns = self.screen.columns.saturating_sub(1);
        let room = columns.saturating_sub(figures.chars().count() + "[] ".len());
        let line = match room {
            0..BAR_MIN => figures,
            room => format!("{} {figures}", bar.picture(room.min(BAR_MAX))),
        };
        format!("\r\x1b[K{}", cut(&line, columns))
    }

    fn write_step(&mut self, bar: &Bar) -> String {
        let step = (bar.part, bar.percent() / STEP_PERCENT);
        if self.step == Some(step) {
            return String::new();
        }
        self.step = Some(step);
        format!("{}\n", bar.figures(self.meter.rate))
    }
}

/// How far one file is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bar {
    part: usize,
    parts: usize,
    done: u64,
    total: u64,
}

impl Bar {
    fn percent(&self) -> u64 {
        (self.done as u128 * 100 / u128::from(self.total.max(1))) as u64
    }

    fn picture(&self, columns: usize) -> String {
        let full = (self.percent() as usize * columns / 100).min(columns);
        format!("[{}{}]", "#".repeat(full), "-".repeat(columns - full))
    }

    fn figures(&self, rate: Option<f64>) -> String {
        let part = match self.parts {
            1 => String::new(),
            parts => format!("part {} of {parts} · ", self.part),
        };
        let (done, total) = (format_bytes(self.done), format_bytes(self.total));
        let mut text = format!("{part}{:>3} % · {done} of {total}", self.percent());
        if let Some(rate) = rate.filter(|rate| *rate >= 1.0) {
            text.push_str(&format!(" · {}/s", format_bytes(rate as u64)));
            if self.done < self.total {
                let left = Duration::from_secs_f64((self.total - self.done) as f64 / rate);
                text.push_str(&format!(" · {} left", format_left(left)));
            }
        }
        text
    }
}

/// Writes a time that is only an estimate: `40 s`, `12 min`, `3 h 20 min`.
fn format_left(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds @ 91..=5_400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Bytes per second, smoothed.
#[derive(Default)]
struct RateMeter {
    /// The last sample: bytes, and when.
    last: Option<(u64, Duration)>,
    rate: Option<f64>,
}

impl RateMeter {
    fn on(&mut self, done: u64, now: Duration) {
        let Some((before, at)) = self.last.filter(|(before, _)| *before <= done) else {
            // The first piece, or the next file: what lay on the disk before was not downloaded now.
            self.last = Some((done, now));
            return;
        };
        let time = now.saturating_sub(at);
        if time < SAMPLE {
            return;
        }
        let recent = (done - before) as f64 / time.as_secs_f64();
        self.rate = Some(self.rate.map_or(recent, |rate| rate + RECENT * (recent - rate)));
        self.last = Some((done, now));
    }
}

fn write(text: &str) {
    crate::printer::tell(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn loading(part: usize, parts: usize, done: u64) -> PullEvent {
        PullEvent::Loading { part, parts, done, total: 1_000_000_000 }
    }

    #[track_caller]
    fn check(live: bool, events: &[(u64, PullEvent)], want: Expect) {
        let screen = Screen { live, colour: false, columns: 80 };
        let mut view = DownloadView::new(screen);
        let text = events.iter().map(|(ms, it)| view.render(it, Duration::from_millis(*ms)));
        let text = text.collect::<String>().replace('\r', "<").replace("\x1b[K", "|");
        want.assert_eq(&text);
    }

    fn story() -> Vec<(u64, PullEvent)> {
        let why = "the connection broke".to_string();
        vec![
            (0, PullEvent::Note("ada/tiny: Q8_0, the best that fits.".into())),
            (0, PullEvent::Resuming { done: 100_000_000, total: 1_000_000_000 }),
            (0, loading(1, 1, 100_000_000)),
            (50, loading(1, 1, 105_000_000)),
            (1_000, loading(1, 1, 200_000_000)),
            (1_500, PullEvent::Retrying { why, pause: Duration::from_millis(500) }),
            (2_000, loading(1, 1, 210_000_000)),
            (9_000, loading(1, 1, 1_000_000_000)),
            (9_000, PullEvent::Verifying),
        ]
    }

    #[test]
    fn a_person_sees_a_bar_that_moves() {
        check(
            true,
            &story(),
            expect![[r#"
                ada/tiny: Q8_0, the best that fits.
                100 MB of 1.0 GB are here already; checking them …
                <|[##----------------------]  10 % · 100 MB of 1.0 GB<|[####--------------------]  20 % · 200 MB of 1.0 GB · 100 MB/s · 8 s left<|the connection broke; trying again in 0.5 s
                <|[#####-------------------]  21 % · 210 MB of 1.0 GB · 73 MB/s · 10 s left<|[########################] 100 % · 1.0 GB of 1.0 GB · 85 MB/s"#]],
        );
    }

    #[test]
    fn the_bar_follows_the_terminal_and_tells_of_a_standstill() {
        #[track_caller]
        fn check(columns: usize, ms: u64, want: &str) {
            let screen = Screen { live: true, colour: false, columns };
            let mut view = DownloadView::new(screen);
            view.render(&loading(1, 1, 500_000_000), Duration::ZERO);
            let text = view.render_tick(Duration::from_millis(ms));
            assert_eq!(text.trim_start_matches("\r\x1b[K"), want);
        }
        check(80, 500, "[############------------]  50 % · 500 MB of 1.0 GB");
        check(40, 500, "[######------]  50 % · 500 MB of 1.0 GB");
        check(30, 500, " 50 % · 500 MB of 1.0 GB");
        check(80, 50, "");
        check(80, 2_000, "[############------------]  50 % · 500 MB of 1.0 GB · waiting");
        let whole = &mut DownloadView::new(Screen { live: true, colour: false, columns: 80 });
        whole.render(&loading(1, 1, 1_000_000_000), Duration::ZERO);
        assert_eq!(whole.render_tick(Duration::from_secs(9)), "");
    }

    #[test]
    fn a_file_gets_a_line_now_and_then() {
        let mut story = story();
        story.push((9_100, loading(2, 3, 400_000_000)));
        check(
            false,
            &story,
            expect![[r#"
                ada/tiny: Q8_0, the best that fits.
                100 MB of 1.0 GB are here already; checking them …
                 10 % · 100 MB of 1.0 GB
                 20 % · 200 MB of 1.0 GB · 100 MB/s · 8 s left
                the connection broke; trying again in 0.5 s
                100 % · 1.0 GB of 1.0 GB · 85 MB/s
                part 2 of 3 ·  40 % · 400 MB of 1.0 GB · 85 MB/s · 7 s left
            "#]],
        );
    }

    #[test]
    fn times_are_rounded() {
        let left = |seconds| format_left(Duration::from_secs(seconds));
        assert_eq!([left(40), left(700), left(12_000)], ["40 s", "12 min", "3 h 20 min"]);
    }
}
