//! What came of the tests, read from the output of `cargo test`.

use std::fmt;

/// The tests of all suites so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    suites: u64,
    /// The suite that runs, until its result is read.
    running: Option<String>,
    /// Whether the lines are those that repeat the names of tests that failed.
    is_in_failures: bool,
    failures: Vec<String>,
}

impl Tally {
    /// Reads the next line.
    pub(crate) fn read_line(&mut self, line: &str) {
        if let Some(suite) = suite_name(line) {
            self.running = Some(suite);
            self.is_in_failures = false;
        } else if line.starts_with("error: test failed") {
            self.end_failed_suite();
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.add_result(result);
        } else if line == "failures:" {
            self.is_in_failures = true;
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| self.is_in_failures) {
            let suite = self.running.as_deref().unwrap_or("a suite");
            let failure = format!("{suite}: {name}");
            // Its output may look like the list, and the list comes once with outputs, once without.
            if is_test_name(name) && !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
        }
    }

    fn add_result(&mut self, result: &str) {
        self.passed += count_before(result, " passed");
        self.failed += count_before(result, " failed");
        self.ignored += count_before(result, " ignored");
        self.suites += 1;
        self.running = None;
        self.is_in_failures = false;
    }

    /// Notes a suite that failed and never told its result: it was ended by a signal or an exit.
    /// A program without a result of its own, such as a bench, fails no other way.
    fn end_failed_suite(&mut self) {
        if let Some(suite) = self.running.take() {
            self.failed += 1;
            self.failures.push(format!("{suite}: ended without a result"));
        }
    }
}

/// The suite that cargo says it runs: `crates/x (tests/y.rs)` as `x tests/y.rs`.
fn suite_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{name} doc-tests"));
    }
    let (source, program) = line.strip_prefix("Running ")?.split_once(" (")?;
    let program = program.trim_end_matches(')');
    let file = program.rsplit('/').next().unwrap_or(program);
    let (name, _hash) = file.rsplit_once('-').unwrap_or((file, ""));
    Some(format!("{name} {source}"))
}

/// The number right before `word` in `7 passed; 1 failed; …`.
fn count_before(result: &str, word: &str) -> u64 {
    let number = result.split(word).next().and_then(|before| before.rsplit([' ', ';']).next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn is_test_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || "_:-./() ".contains(c))
        && !text.starts_with(' ')
        && (text.contains("::") || !text.contains(' '))
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, failed, ignored, suites, .. } = self;
        if !self.failures.is_empty() {
            writeln!(f, "What failed:")?;
            self.failures.iter().try_for_each(|failure| writeln!(f, "  {failure}"))?;
        }
        writeln!(f, "{suites} suites, {ignored} tests ignored")?;
        write!(f, "{passed} passed, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(output: &str, expected: Expect) {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.read_line(line));
        expected.assert_eq(&tally.to_string());
    }

    #[test]
    fn passed_tests_of_all_suites_are_added() {
        let output = "     Running unittests src/lib.rs (target/debug/deps/althing_hub-0123)\n\
            \nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\
            \ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\
            \x20  Doc-tests althing_hub\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        check(
            output,
            expect![[r#"
            2 suites, 1 tests ignored
            5 passed, 0 failed"#]],
        );
    }

    #[test]
    fn failures_are_named_once_with_their_suite() {
        let output = "     Running tests/e2e/main.rs (target/debug/deps/e2e-0123)\n\
            test kill::it ... FAILED\n\nfailures:\n\n---- kill::it stdout ----\n\
            thread 'kill::it' panicked at a.rs:1:\n    {\"not\": \"a name\"}\n\n\
            failures:\n    kill::it\n    it_too\n\n\
            test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
            error: test failed, to rerun pass `-p althing --test e2e`";
        check(
            output,
            expect![[r#"
            What failed:
              e2e tests/e2e/main.rs: kill::it
              e2e tests/e2e/main.rs: it_too
            1 suites, 0 tests ignored
            7 passed, 2 failed"#]],
        );
    }

    #[test]
    fn a_suite_without_a_result_has_failed_where_cargo_says_so() {
        let output = "     Running unittests src/lib.rs (target/debug/deps/one-0)\n\
            running 2 tests\ntest a ... ok\n\
            error: test failed, to rerun pass `-p one --lib`\n\
            \x20    Running benches/two.rs (target/debug/deps/two-0)\nsizes: 2 runs";
        check(
            output,
            expect![[r#"
            What failed:
              one unittests src/lib.rs: ended without a result
            0 suites, 0 tests ignored
            0 passed, 1 failed"#]],
        );
    }
}
