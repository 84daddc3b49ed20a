//! Books as data: what is configured, what was added, what names come to.

mod libraries;

use super::*;
use crate::config::World;
use crate::service::words::ProviderKind;
use althing_gateway::provider;
use althing_stdx::redact::Secret;

pub(crate) const KEY: &str = "sk-proj-abcdefghijklmnop-1234";

pub(crate) fn world(home: &std::path::Path, vars: &[(&str, &str)]) -> World {
    let env = vars.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    World { env: env.collect(), cwd: home.into(), home: home.into() }
}

fn stored(id: &str, row: &str) -> Stored {
    Stored {
        id: id.into(),
        name: format!("The {id}"),
        kind: ProviderKind::ApiKey,
        row: row.into(),
        base_url: None,
        local_path: None,
        enabled: true,
        checked_at_ms: Some(1),
        added_at_ms: 1,
    }
}

fn endpoint(row: &Stored) -> Arc<Endpoint> {
    let like = provider(&row.row).unwrap();
    Arc::new(Endpoint {
        id: row.id.clone(),
        provider: like,
        base_url: like.base_url.into(),
        key: Some(Secret::new(KEY)),
        parallel: 1,
        access: None,
        headers: vec![],
    })
}

/// A book of lines: `added ID like ROW`, `ID has MODEL, MODEL` (`!` behind a disabled one),
/// `ALIAS -> PROVIDER/MODEL, …`, `broken ID like ROW`.
fn book(vars: &[(&str, &str)], lines: &[&str]) -> Book {
    let mut shelf = Shelf::default();
    let mut opened = vec![];
    for line in lines {
        if let Some((alias, targets)) = line.split_once(" -> ") {
            let targets = targets.split(", ").map(|target| {
                let (provider_id, model_id) = target.split_once('/').unwrap();
                RouteTarget { provider_id: provider_id.into(), model_id: model_id.into() }
            });
            shelf.routes.insert(alias.into(), targets.collect());
        } else if let Some((id, models)) = line.split_once(" has ") {
            let models = models.split(", ").map(|model| StoredModel {
                model: model.trim_end_matches('!').into(),
                display: None,
                enabled: !model.ends_with('!'),
                listed_at_ms: Some(1),
                context_tokens: None,
            });
            shelf.models.insert(id.into(), models.collect());
        } else {
            let words: Vec<&str> = line.split(' ').collect();
            let row = stored(words[1], words[3]);
            opened.push(match words[0] {
                "added" => Ok(endpoint(&row)),
                _ => Err("its key is gone".to_string()),
            });
            shelf.providers.push(row);
        }
    }
    let mut config = Config::load(&world("/nonexistent".as_ref(), vars));
    config.endpoints.retain(|it| it.explicit);
    Book::new(&config, shelf, opened)
}

#[track_caller]
fn check(book: &Book, name: &str, want: &[&str]) {
    let targets = book.targets(name).unwrap();
    assert_eq!(targets.iter().map(|it| it.id()).collect::<Vec<_>>(), want, "{name}");
}

#[track_caller]
fn refused(book: &Book, name: &str, parts: &[&str]) {
    let fault = book.targets(name).unwrap_err();
    assert!(parts.iter().all(|part| fault.message.contains(part)), "{name}: {fault}");
}

#[test]
fn a_bare_name_finds_who_was_added() {
    let mine = book(&[], &["added mine like openai"]);
    check(&mine, "gpt-5.1", &["mine:gpt-5.1"]);
    check(&mine, "gpt-5.1@high", &["mine:gpt-5.1@high"]);
    check(&mine, "mine:anything", &["mine:anything"]);
    refused(&mine, "claude-sonnet-5", &["Anthropic has no key"]);
    check(&mine, "demo:skeptic", &[]);

    let two = book(&[("OPENAI_API_KEY", KEY)], &["added mine like openai"]);
    refused(&two, "gpt-5.1", &["'gpt-5.1' can be openai:gpt-5.1 or mine:gpt-5.1; name one"]);
    check(&two, "mine:gpt-5.1", &["mine:gpt-5.1"]);

    let lists = ["added a like openai", "added b like openai", "b has gpt-5.1", "a has gpt-4.1"];
    check(&book(&[], &lists), "gpt-5.1", &["b:gpt-5.1"]);
    check(&book(&[], &["added box like vllm", "box has qwen3"]), "qwen3", &["box:qwen3"]);
}

#[test]
fn what_is_configured_wins_over_what_was_added() {
    let book = book(&[("OPENAI_API_KEY", KEY)], &["added openai like anthropic"]);
    let entry = book.entry("openai").unwrap();
    let trouble = entry.trouble.as_deref().unwrap();
    assert!(trouble.contains("environment variable OPENAI_API_KEY"), "{trouble}");
    assert_eq!(book.endpoint("openai").unwrap().endpoint.provider.name, "openai");
    assert_eq!(book.config.endpoints.len(), 1);
}

#[test]
fn routes_are_followed_in_order() {
    let book = book(
        &[("OPENAI_API_KEY", KEY)],
        &[
            "added a like vllm",
            "broken gone like vllm",
            "a has m, off!",
            "fast -> a/m, openai/gpt-5.1@low, a/m",
            "deep -> alias/fast, a/n, alias/fast",
            "gpt-5.1 -> a/m",
            "half -> nobody/x, a/off, alias/nothing, gone/y, a/m",
            "dead -> nobody/x, a/off, gone/y",
            "worse -> alias/dead",
            "round -> alias/about, a/m",
            "about -> alias/round",
        ],
    );
    check(&book, "fast", &["a:m", "openai:gpt-5.1@low"]);
    check(&book, "fast@high", &["a:m@high", "openai:gpt-5.1@low"]);
    check(&book, "deep", &["a:m", "openai:gpt-5.1@low", "a:n"]);
    // An alias wins over a model of the same name, which is still there in full.
    check(&book, "gpt-5.1", &["a:m"]);
    check(&book, "openai:gpt-5.1", &["openai:gpt-5.1"]);
    check(&book, "half", &["a:m"]);
    check(&book, "round", &["a:m"]);
    let why = ["nobody:x (no such provider)", "a:off (disabled)", "gone:y (its key is gone)"];
    refused(&book, "dead", &why);
    refused(&book, "worse", &why);
    refused(&book, "nothing", &["no such model is found"]);

    let states = |alias: &str| -> Vec<Option<String>> {
        book.states(alias).unwrap().into_iter().map(|it| it.dead).collect()
    };
    let dead = |text: &str| Some(text.to_string());
    let want = [
        dead("no such provider"),
        dead("disabled"),
        dead("alias 'nothing' (no such alias)"),
        dead("its key is gone"),
        None,
    ];
    assert_eq!(states("half"), want);
    assert_eq!(states("about"), [None]);
    assert!(states("worse")[0].as_ref().unwrap().contains("a:off (disabled)"));
    assert_eq!(book.states("nothing"), None);
}

#[test]
fn circles_are_found_before_they_are_made() {
    let book = book(&[], &["a -> alias/b", "b -> alias/c, x/y", "c -> x/y", "d -> alias/b"]);
    let to = |alias: &str| RouteTarget { provider_id: "alias".into(), model_id: alias.into() };
    let way = |alias: &str, target: &str| book.cycle(alias, &[to(target)]).map(|it| it.join(" "));
    assert_eq!(way("c", "a").as_deref(), Some("c a b c"));
    assert_eq!(way("c", "c").as_deref(), Some("c c"));
    assert_eq!(way("b", "a").as_deref(), Some("b a b"));
    assert_eq!(way("c", "new"), None);
    assert_eq!(way("e", "a"), None);
}

#[test]
fn many_ways_to_the_same_alias_are_walked_once() {
    let names = |n: usize| format!("level{n}");
    let mut lines: Vec<String> = (0..200)
        .map(|n| format!("{} -> alias/{1}, alias/{1}, alias/{1}", names(n), names(n + 1)))
        .collect();
    lines.push(format!("{} -> a/m", names(200)));
    lines.push("added a like vllm".into());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check(&book(&[], &lines), "level0", &["a:m"]);
}

#[test]
fn a_disabled_model_is_refused_under_every_name() {
    let lines = ["added a like openai", "a has gpt-5.1!, gpt-4.1, odd!"];
    let book = book(&[], &lines);
    for (name, id) in [
        ("a:gpt-5.1", "a:gpt-5.1"),
        ("a:gpt-5.1@high", "a:gpt-5.1"),
        ("gpt-5.1", "a:gpt-5.1"),
        ("odd", "a:odd"),
    ] {
        let help = format!("is disabled; `althing models enable {id}` enables it");
        refused(&book, name, &[&help]);
    }
    check(&book, "gpt-4.1", &["a:gpt-4.1"]);
    let offered: Vec<_> = book.found().models().map(|(_, it)| it.id.clone()).collect();
    assert_eq!(offered, ["a:gpt-4.1"]);
}
