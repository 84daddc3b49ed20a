//! All seven methods on scripted voices and a paused clock.

mod briefing;
mod course;
mod forms;
mod injection;
pub(crate) mod kit;
mod mishaps;
mod order;
mod resume;
mod rules;

use super::{ALL, Method};
use expect_test::Expect;
use kit::*;

/// Holds a run of `table` and compares its log.
async fn check(table: Table, expect: Expect) {
    expect.assert_eq(&render(&table.hold().await));
}

/// A line for every method.
async fn check_all(line: impl AsyncFn(&'static Method) -> String, expect: Expect) {
    let mut lines = String::new();
    for method in ALL {
        lines += &format!("{}: {}\n", method.name, line(method).await);
    }
    expect.assert_eq(&lines);
}
