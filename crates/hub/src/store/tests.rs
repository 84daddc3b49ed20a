//! The store as its users see it, and as other processes, full disks and killed writers leave it.

mod haste;
mod process;

use super::*;
use althing_assembly::What;
use expect_test::expect;
use futures_util::FutureExt;
use futures_util::future::{join_all, try_join_all};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// The first event of a run that asks `question`.
pub(crate) fn started(question: &str) -> What {
    what(json!({
        "type": "run_started", "method": "standard", "question": question, "turns": 2,
        "seats": [
            {"model": "acme:one", "name": "Ada"},
            {"model": "demo:two", "name": "Bob", "demo": true},
        ],
        "synthesizers": [0, 1], "synthesizer_mode": "first",
    }))
}

pub(crate) fn delta(text: &str) -> What {
    what(json!({"type": "turn_delta", "turn": 0, "text": text}))
}

pub(crate) fn ended() -> What {
    what(json!({"type": "run_ended", "ending": "completed", "totals": {
        "calls": 2, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.25,
        "uncounted": 0, "unpriced": 1,
    }}))
}

pub(crate) fn what(json: Value) -> What {
    serde_json::from_value(json).unwrap()
}

/// Numbers `all` as the events of `run`.
pub(crate) fn events(run: &str, all: impl IntoIterator<Item = What>) -> Vec<Event> {
    let number = |(seq, what)| Event { seq, run: run.into(), at_ms: 1000 + seq, what };
    (0..).zip(all).map(number).collect()
}

fn said(cost_usd: Option<f64>, parts: Value) -> What {
    what(json!({
        "type": "turn_ended", "turn": 0, "phase": 1, "seat": 0, "nth": 0, "model": "acme:one",
        "name": "Ada", "speech": "answer", "parallel": false,
        "outcome": {"said": {"text": "so", "parts": parts, "stop": "end", "took_ms": 3,
            "cost_usd": cost_usd}},
    }))
}

pub(crate) fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/althing.db");
    (folder, path)
}

#[track_caller]
fn check_fault<T>(result: Result<T>, path: &Path, want: &str) {
    let fault = result.err().expect("an error");
    let folder = path.parent().unwrap().display().to_string();
    let said = format!("{}: {}", fault.kind, fault.message.replace(&folder, "[data]"));
    assert_eq!(said, want);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_run_comes_back_as_it_was_written() {
    let (_folder, path) = place();
    let synthesis = json!({"is": "synthesis", "consensus": "PARTIAL", "agreed": "a",
        "synthesis": "s", "differences": "None", "messages": 2});
    let all = events(
        "r1",
        [
            started("why?"),
            what(json!({"type": "phase_started", "phase": 1, "total": 5, "name": "answers",
                "participants": ["Ada"]})),
            delta("so"),
            said(Some(0.25), json!({"is": "plain"})),
            said(None, synthesis),
            ended(),
            what(json!({"type": "run_resumed", "kept": 2, "max_cost_usd": null})),
        ],
    );
    let store = Store::open(&path).unwrap();
    store.append(all.clone()).await.unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.events("r1").await.unwrap(), all);
    let row = store.run("r1").await.unwrap();
    assert_eq!(store.runs(10).await.unwrap(), std::slice::from_ref(&row));
    expect![[r#"
        RunRow {
            id: "r1",
            started_at_ms: 1000,
            updated_at_ms: 1006,
            method: "standard",
            question: "why?",
            models: [
                "acme:one",
                "demo:two",
            ],
            demo: true,
            speeches: 2,
            failures: 0,
            cost_usd: 0.25,
            unpriced: 1,
            consensus: Some(
                "PARTIAL",
            ),
            ending: None,
            standing: Stopped,
        }
    "#]]
    .assert_debug_eq(&row);
}

#[tokio::test]
async fn a_list_shows_the_newest_first_and_how_each_stands() {
    let store = Store::in_memory().unwrap();
    for (run, at_ms) in [("b", 1), ("c", 3), ("a", 2)] {
        let mut all = events(run, [started("why?"), ended()]);
        all.iter_mut().for_each(|event| event.at_ms = at_ms);
        all.truncate(if run == "a" { 2 } else { 1 });
        store.append(all).await.unwrap();
    }
    let lease = store.lease("c").await.unwrap();
    let standings = async || -> Vec<(String, Standing)> {
        store.runs(9).await.unwrap().into_iter().map(|row| (row.id, row.standing)).collect()
    };
    let expected = |c| {
        [("c", c), ("a", Standing::Completed), ("b", Standing::Stopped)]
            .map(|(run, standing)| (run.to_string(), standing))
    };
    assert_eq!(standings().await, expected(Standing::Running));
    drop(lease);
    assert_eq!(standings().await, expected(Standing::Stopped));
    assert_eq!(store.runs(2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn events_out_of_order_are_refused_and_hurt_nobody_else() {
    let store = Store::in_memory().unwrap();
    let all = events("r1", [started("why?"), delta("a"), delta("b"), delta("c")]);
    let refused = |result: Result<()>, want: &str| assert_eq!(result.unwrap_err().message, want);
    store.append(all[..2].to_vec()).await.unwrap();
    refused(store.append(all[3..].to_vec()).await, "run r1: event 3 came where 2 was due");
    refused(store.append(all[1..].to_vec()).await, "run r1: event 1 came where 2 was due");
    refused(store.append(all[..1].to_vec()).await, "run r1: event 0 came where 2 was due");
    let none = events("none", [started("?"), delta("a")]).split_off(1);
    refused(store.append(none).await, "run none: event 1 came before the run was opened");

    // All of one append or nothing, and only of that one: these are likely one transaction.
    let half = vec![all[2].clone(), all[2].clone()];
    let good = events("r2", [started("what?")]);
    let (half, good) = futures_util::join!(store.append(half), store.append(good));
    refused(half, "run r1: event 2 came where 3 was due");
    good.unwrap();
    assert_eq!(store.events("r1").await.unwrap(), all[..2]);
    assert_eq!(store.events("r2").await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_start_of_a_name_is_enough() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    check_fault(
        store.run("last").await,
        &path,
        "not_found: there is no run yet: `althing ask` starts one",
    );
    for run in ["1a00", "1a01", "1b00", "1a0"] {
        store.append(events(run, [started(&format!("what\nis {run}?"))])).await.unwrap();
    }
    for (name, want) in [("1a01", "1a01"), ("1b", "1b00"), ("1B", "1b00"), ("1a0", "1a0")] {
        assert_eq!(store.run(name).await.unwrap().id, want, "{name}");
    }
    assert_eq!(store.run("last").await.unwrap().id, "1b00");
    check_fault(
        store.run("1a").await,
        &path,
        "invalid_params: run: '1a' fits several:\n  1a0  what is 1a0?\n  1a00  what is 1a00?\n  \
         1a01  what is 1a01?",
    );
    check_fault(
        store.run("%\u{1b}").await,
        &path,
        r"not_found: no run is called '%\u{1b}': `althing history` lists them",
    );
    check_fault(
        store.run("").await,
        &path,
        "invalid_params: run: give a name, the start of one, or `last`; `althing \
         history` lists them",
    );
    check_fault(
        store.events("1").await,
        &path,
        "not_found: no run is called '1': `althing history` lists them",
    );
}

#[tokio::test]
async fn many_matches_are_not_all_listed() {
    let store = Store::in_memory().unwrap();
    for at in 10..30 {
        store.append(events(&format!("1{at}"), [started("why?")])).await.unwrap();
    }
    let message = store.run("1").await.unwrap_err().message;
    assert_eq!(message.lines().count(), 10, "{message}");
    assert!(message.ends_with("117  why?\n  and more"), "{message}");
}

#[tokio::test]
async fn damage_is_named_and_stays_where_it_is() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    for run in ["good", "cut", "hole", "blob"] {
        store.append(events(run, [started("why?"), delta("a"), delta("b")])).await.unwrap();
    }
    let raw = Connection::open(&path).unwrap();
    let at = |run: &str, seq: u32| {
        format!("number = ((SELECT number FROM runs WHERE id = '{run}') << 32 | {seq})")
    };
    let harm = |what: &str, run, seq| {
        assert_eq!(raw.execute(&format!("{what} WHERE {}", at(run, seq)), []).unwrap(), 1);
    };
    harm("UPDATE events SET json = '{'", "cut", 2);
    harm("DELETE FROM events", "hole", 1);
    harm("UPDATE events SET json = CAST(x'ff' AS TEXT)", "blob", 0);
    raw.execute("UPDATE runs SET models = 'x', ending = 'y' WHERE id = 'cut'", []).unwrap();
    check_fault(
        store.events("cut").await,
        &path,
        "internal: run cut: event 2 cannot be read (EOF while parsing an object at \
         line 1 column 1); other runs are unharmed",
    );
    check_fault(
        store.events("hole").await,
        &path,
        "internal: run hole: event 1 cannot be read (it is missing); other runs are unharmed",
    );
    check_fault(
        store.events("blob").await,
        &path,
        "internal: run blob: event 0 cannot be read (expected value at line 1 column \
         1); other runs are unharmed",
    );
    assert_eq!(store.events("good").await.unwrap().len(), 3);
    assert_eq!(store.runs(9).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_file_that_is_no_store_is_named_and_left_alone() {
    let check = |bytes: &[u8]| {
        let (_folder, path) = place();
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        check_fault(
            Store::open(&path).map(drop),
            &path,
            "internal: [data]/althing.db is damaged or not a history of Althing. Nothing was \
             changed in it: put a good copy in its place, or move it away to begin a new one",
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    };
    check(&b"These are my notes. ".repeat(100));
    // A header as it should be, and noise behind it.
    let (_folder, path) = place();
    drop(Store::open(&path).unwrap());
    let mut torn = fs::read(&path).unwrap();
    torn[100..].fill(0xa5);
    check(&torn);
}

#[tokio::test]
async fn a_path_that_cannot_be_is_named() {
    let (folder, path) = place();
    fs::write(folder.path().join("data"), "a file where the folder should be").unwrap();
    check_fault(
        Store::open(&path).map(drop),
        &path,
        "internal: the data folder [data]: File exists (os error 17)",
    );
    let (_folder, path) = place();
    fs::create_dir_all(&path).unwrap();
    check_fault(
        Store::open(&path).map(drop),
        &path,
        "internal: [data]/althing.db cannot be written: check its permissions and its \
         folder's",
    );
}

#[tokio::test]
async fn an_old_file_is_brought_up_and_a_newer_one_refused() {
    let (_folder, path) = place();
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    store.append(events("r1", [started("why?")])).await.unwrap();
    drop(store);

    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    check_fault(
        Store::open(&path).map(drop),
        &path,
        "internal: [data]/althing.db was written by a newer Althing (format 99, this \
         one knows 4): use that one",
    );
}

#[tokio::test]
async fn every_format_before_is_brought_up_with_its_runs() {
    for format in 1..schema::MIGRATIONS.len() {
        let (_folder, path) = place();
        fs::create_dir(path.parent().unwrap()).unwrap();
        let all = events("r1", [started("why?"), delta("a"), ended()]);
        let db = Connection::open(&path).unwrap();
        schema::MIGRATIONS[..format].iter().for_each(|step| db.execute_batch(step).unwrap());
        db.pragma_update(None, "user_version", format as i64).unwrap();
        let run = "INSERT INTO runs (id, started_at_ms, updated_at_ms, method, question, models,
            demo, events) VALUES (?1, 1, 2, 'standard', 'why?', '[]', 0, 3)";
        for id in ["r0", "r1"] {
            db.execute(run, [id]).unwrap();
        }
        for event in &all {
            // From the third format on events have numbers; this is the second run.
            let sql = match format {
                ..3 => "INSERT INTO events VALUES (?1, ?2, 0, ?3)",
                _ => "INSERT INTO events SELECT number << 32 | ?2, ?3 FROM runs WHERE id = ?1",
            };
            let row = (event.run.as_str(), event.seq as i64, serde_json::to_string(event).unwrap());
            db.execute(sql, row).unwrap();
        }
        drop(db);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.events("r1").await.unwrap(), all, "format {format}");
        assert!(store.events("r0").await.is_err(), "its events are not another's");
        assert!(store.shelf().await.unwrap().providers.is_empty());
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_survived() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let pages = async |max: u32| {
        let limit = move |db: &Connection| {
            Ok(db.pragma_update_and_check(None, "max_page_count", max, |_| Ok(()))?)
        };
        store.write(limit).await.unwrap();
    };
    store.append(events("r1", [started("why?")])).await.unwrap();
    pages(1).await;
    let big = "x".repeat(100_000);
    let results =
        join_all((2..5).map(|at| store.append(events(&format!("r{at}"), [started(&big)])))).await;
    for result in results {
        check_fault(result, &path, "internal: [data]/althing.db: the disk is full");
    }
    pages(1_000_000).await;
    store.append(events("r9", [started(&big)])).await.unwrap();
    let runs = store.runs(9).await.unwrap().into_iter().map(|row| row.id);
    assert_eq!(runs.collect::<Vec<_>>(), ["r9", "r1"]);
}

fn basket(event: Event) -> Arc<Basket> {
    let basket = Arc::<Basket>::default();
    basket.put(event);
    basket
}

#[tokio::test]
async fn a_full_queue_waits_and_dropping_the_store_writes_it() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    let total = 2 * writer::QUEUE_MAX + 1000;
    let mut all = events("r1", std::iter::once(started("?")).chain((1..total).map(|_| delta("a"))))
        .into_iter();
    let loss = Loss::default();
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut queued = 0;
    // Nobody may write now, so the queue fills up.
    while let Some(room) = tokio::task::unconstrained(store.room()).now_or_never() {
        room.unwrap().append(&basket(all.next().unwrap()), &loss);
        queued += 1;
    }
    assert!(queued >= writer::QUEUE_MAX && queued < total, "{queued}");
    raw.execute_batch("ROLLBACK").unwrap();
    for event in all {
        store.room().await.unwrap().append(&basket(event), &loss);
    }
    drop(store);
    assert_eq!(loss.get(), None);
    let written = Store::open(&path).unwrap().events("r1").await.unwrap();
    assert_eq!(written.len(), total);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_is_written_a_moment_later() {
    let store = Store::in_memory().unwrap();
    let said = [started("why?"), delta("a"), delta("b"), delta("c")];
    let (all, loss) = (events("r1", said), Loss::default());
    for (at, two) in all.chunks(2).enumerate() {
        for event in two {
            drop(store.room().await.unwrap().append(&basket(event.clone()), &loss));
        }
        let written = store.events("r1").await.map_or(0, |events| events.len());
        assert_eq!(written, 2 * at, "nobody has waited");
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(store.events("r1").await.unwrap(), all[..2 * at + 2]);
    }
}

#[tokio::test]
async fn after_a_panic_nothing_more_is_written() {
    let (_folder, path) = place();
    let store = Store::open(&path).unwrap();
    store.append(events("r1", [started("why?")])).await.unwrap();
    let broken = store.write(|db| -> Result<(), Trouble> {
        db.execute("DELETE FROM events", [])?;
        panic!("as asked for")
    });
    let stopped = "internal: [data]/althing.db: its writer has stopped";
    check_fault(broken.await, &path, stopped);
    check_fault(store.append(events("r2", [started("why?")])).await, &path, stopped);
    assert_eq!(store.events("r1").await.unwrap().len(), 1);
    drop(store);
    assert_eq!(Store::open(&path).unwrap().runs(9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn readers_see_whole_steps_while_others_write() {
    let (_folder, path) = place();
    let (ours, theirs) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let write = async |store: &Store, run: &str| {
        let all = events(run, std::iter::once(started("?")).chain((1..100).map(|_| delta("a"))));
        for pair in all.chunks(2) {
            store.append(pair.to_vec()).await.unwrap();
        }
    };
    let read = async || {
        loop {
            let count = theirs.events("a").await.map_or(0, |events| events.len());
            assert_eq!(count % 2, 0);
            if count == 100 {
                return;
            }
        }
    };
    futures_util::join!(write(&ours, "a"), write(&ours, "b"), write(&theirs, "c"), read());
    for run in ["a", "b", "c"] {
        assert_eq!(ours.events(run).await.unwrap().len(), 100, "{run}");
    }
}

#[tokio::test]
async fn small_things_are_kept_by_name() {
    let (_folder, path) = place();
    let (ours, theirs) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    assert_eq!(ours.get("ui").await.unwrap(), None);
    ours.set("ui", &json!({"a": 1, "b": {"c": [1, "x"]}})).await.unwrap();
    let patch = json!({"a": null, "b": {"d": "é"}});
    let whole = json!({"b": {"c": [1, "x"], "d": "é"}});
    assert_eq!(theirs.merge("ui", &patch).await.unwrap(), whole);
    assert_eq!(ours.get("ui").await.unwrap(), Some(whole));
    assert_eq!(ours.merge("new", &patch).await.unwrap(), json!({"b": {"d": "é"}}));

    let merges = (0..40).map(async |at| {
        let store = if at % 2 == 0 { &ours } else { &theirs };
        store.merge("all", &json!({ format!("k{at}"): at })).await
    });
    try_join_all(merges).await.unwrap();
    let all = ours.get("all").await.unwrap().unwrap();
    assert_eq!(all.as_object().unwrap().len(), 40);
}

#[tokio::test]
async fn what_is_folded_is_in_the_file_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("althing.db");
    let store = Store::open(&path).unwrap();
    store.set("colour", &json!("red")).await.unwrap();
    store.fold().await;
    // The file alone, as somebody else would copy it.
    let alone = folder.path().join("alone.db");
    std::fs::copy(&path, &alone).unwrap();
    assert_eq!(Store::open(&alone).unwrap().get("colour").await.unwrap(), Some(json!("red")));
}

#[tokio::test]
async fn a_list_keeps_its_last_and_none_twice() {
    let (_folder, path) = place();
    let (ours, theirs) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    for name in ["l", "l.", "l0", "ll/1"] {
        ours.set(name, &json!("no part of it")).await.unwrap();
    }
    for (at, value) in ["x", "y", "z", "x", "é", "z"].iter().enumerate() {
        let store = if at % 2 == 0 { &ours } else { &theirs };
        store.push("l", &json!(value), 3).await.unwrap();
    }
    assert_eq!(ours.list("l").await.unwrap(), [json!("x"), json!("é"), json!("z")]);
    assert_eq!(theirs.list("none").await.unwrap(), [json!(null); 0]);
    let pushes = (0..30).map(|at| {
        let store = if at % 2 == 0 { &ours } else { &theirs };
        async move { store.push("many", &json!(at), 20).await }
    });
    try_join_all(pushes).await.unwrap();
    assert_eq!(ours.list("many").await.unwrap().len(), 20);
}

#[tokio::test]
async fn turns_go_round_over_all_processes() {
    let (_folder, path) = place();
    let (ours, theirs) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let mut turns = Vec::new();
    for store in [&ours, &theirs, &ours, &theirs] {
        turns.push(store.rotate(3).await.unwrap());
    }
    assert_eq!(turns, [0, 1, 2, 0]);
    let all = join_all((0..30).map(|at| if at % 2 == 0 { &ours } else { &theirs }.rotate(1000)));
    let mut all: Vec<usize> = all.await.into_iter().map(Result::unwrap).collect();
    all.sort_unstable();
    assert_eq!(all, (4..34).collect::<Vec<_>>());
    assert_eq!(ours.rotate(0).await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_one_process_alone() {
    let (_folder, path) = place();
    let lock = path.with_file_name("runs").join("r1.lock");
    let (ours, theirs) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    let lease = ours.lease("r1").await.unwrap();
    assert_eq!((lease.run(), mode(&lock)), ("r1", 0o600));
    for store in [&ours, &theirs] {
        let busy = "busy: run r1 is being written by another process";
        check_fault(store.lease("r1").await, &path, busy);
    }
    theirs.lease("r2").await.unwrap();
    drop(Store::open(&path).unwrap());
    assert!(lock.exists(), "a lease in use is not swept away");
    drop(lease);
    assert!(!lock.exists());

    fs::write(&lock, "").unwrap();
    theirs.lease("r1").await.unwrap();
    fs::write(&lock, "").unwrap();
    drop(Store::open(&path).unwrap());
    assert!(!lock.exists(), "what a killed process left is swept away");
    for name in ["", "../r1", "a/b", "a\0"] {
        let fault = ours.lease(name).await.unwrap_err();
        assert_eq!(fault.kind, althing_stdx::Kind::InvalidParams, "{name:?}");
    }
    let alone = Store::in_memory().unwrap();
    let _lease = alone.lease("r1").await.unwrap();
    assert!(alone.lease("r1").await.is_err());
    assert!(Store::in_memory().unwrap().lease("r1").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_stands_still_while_something_is_saved() {
    let store = Store::in_memory().unwrap();
    let (start, long) = (tokio::time::Instant::now(), std::time::Duration::from_secs(600));
    let save = async {
        for run in ["a", "b", "c"] {
            store.append(events(run, [started("why?")])).await.unwrap();
            store.events(run).await.unwrap();
        }
        start.elapsed()
    };
    let (elapsed, ()) = futures_util::join!(save, tokio::time::sleep(long));
    assert_eq!(elapsed, std::time::Duration::ZERO);
}
