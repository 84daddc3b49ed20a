//! Everything that is refused, and the values beside it that are not: method, parameters, answer.

use super::kit::{Client, Machine};
use serde_json::{Value, json};

/// What a call comes to: the code and text of its error, or `ok`.
async fn outcome(client: &mut Client, method: &str, params: Value) -> String {
    let answer = client.call(method, params).await;
    match answer["code"].as_i64() {
        Some(code) => format!("{code} {}", answer["message"].as_str().unwrap()),
        None => "ok".into(),
    }
}

async fn check(method: &str, table: &[(Value, &str)]) {
    let mut client = Machine::new().connect();
    for (params, want) in table {
        let got = outcome(&mut client, method, params.clone()).await;
        let shown: String = params.to_string().chars().take(200).collect();
        assert_eq!(got, *want, "{method} {shown}");
    }
}

/// A call of `run_discussion` that goes as far as `want`. All of them end before the first event:
/// where nothing is wrong with the parameters, there is no such model.
async fn check_run(table: &[(Value, &str)]) {
    check("run_discussion", table).await;
}

const UNKNOWN: &str = "-32000 'nobody': no such model is found; `althing models` lists all";

fn chars(count: usize) -> String {
    "é".repeat(count)
}

fn ids(count: usize) -> Vec<&'static str> {
    vec!["nobody"; count]
}

fn run(options: Value) -> Value {
    json!({"question": "Why?", "model_ids": ["nobody", "b"], "options": options})
}

#[tokio::test(start_paused = true)]
async fn questions() {
    let run = |question: Value| json!({"question": question, "model_ids": ["nobody", "b"]});
    check_run(&[
        (json!({}), "-32602 Missing required parameter: question"),
        (json!({"model_ids": 5}), "-32602 Missing required parameter: question"),
        (run(json!(null)), "-32602 Invalid parameter: question must be a string, got null"),
        (run(json!(5)), "-32602 Invalid parameter: question must be a string, got number"),
        (run(json!(["x"])), "-32602 Invalid parameter: question must be a string, got array"),
        (run(json!({})), "-32602 Invalid parameter: question must be a string, got object"),
        (run(json!(true)), "-32602 Invalid parameter: question must be a string, got boolean"),
        (run(json!("")), "-32602 Invalid parameter: question cannot be empty"),
        (run(json!(" \n\t")), "-32602 Invalid parameter: question cannot be empty"),
        (run(json!(chars(50_000))), UNKNOWN),
        (
            run(json!(chars(50_001))),
            "-32602 Invalid parameter: question exceeds maximum length of 50000",
        ),
    ])
    .await;
    check(
        "analyze_question",
        &[
            (json!({}), "-32602 Missing required parameter: question"),
            (
                json!({"question": null}),
                "-32602 Invalid parameter: question must be a string, got null",
            ),
            (json!({"question": ""}), "-32602 Invalid parameter: question cannot be empty"),
            (json!({"question": chars(50_000)}), "ok"),
            (
                json!({"question": chars(50_001)}),
                "-32602 Invalid parameter: question exceeds maximum length of 50000",
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn lists_of_models() {
    let run = |ids: Value| json!({"question": "Why?", "model_ids": ids});
    check_run(&[
        (json!({"question": "Why?"}), "-32602 Missing required parameter: model_ids"),
        (run(json!(null)), "-32602 Invalid parameter: model_ids must be a list, got null"),
        (run(json!("a")), "-32602 Invalid parameter: model_ids must be a list, got string"),
        (run(json!({})), "-32602 Invalid parameter: model_ids must be a list, got object"),
        (run(json!([])), "-32602 Invalid parameter: model_ids must contain at least 2 models"),
        (run(json!(ids(1))), "-32602 Invalid parameter: model_ids must contain at least 2 models"),
        (run(json!(ids(2))), UNKNOWN),
        (run(json!(ids(20))), UNKNOWN),
        (run(json!(ids(21))), "-32602 Invalid parameter: model_ids cannot exceed 20 models"),
        (
            run(json!(["nobody", 5])),
            "-32602 Invalid parameter: model_ids[1] must be a string, got number",
        ),
        (
            run(json!(["nobody", null])),
            "-32602 Invalid parameter: model_ids[1] must be a string, got null",
        ),
        (run(json!(["", "b"])), "-32602 Invalid parameter: model_ids[0] cannot be empty"),
        (
            run(json!(["nobody", "a b"])),
            "-32602 Invalid parameter: model_ids[1] contains invalid characters: [' ']",
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn ids_of_models() {
    let refused = |problem: &str| format!("-32602 Invalid parameter: model_id {problem}");
    let table = [
        (json!({}), "-32602 Missing required parameter: model_id".into()),
        (json!({"model_id": null}), refused("must be a string, got null")),
        (json!({"model_id": 1}), refused("must be a string, got number")),
        (json!({"model_id": ""}), refused("cannot be empty")),
        (json!({"model_id": "x".repeat(100)}), "ok".into()),
        (json!({"model_id": "x".repeat(101)}), refused("exceeds maximum length of 100")),
        (json!({"model_id": "é".repeat(101)}), refused("exceeds maximum length of 100")),
        (json!({"model_id": "é"}), refused("contains invalid characters: ['é']")),
        (json!({"model_id": "a b;c$d"}), refused("contains invalid characters: [' ', ';', '$']")),
        (json!({"model_id": "a\nb"}), refused("contains invalid characters: ['\\n']")),
        (json!({"model_id": "-a"}), refused("must start with a letter or digit")),
        (json!({"model_id": "@a"}), refused("must start with a letter or digit")),
        (json!({"model_id": "a@high"}), "ok".into()),
        (json!({"model_id": "1-./:_@Z"}), "ok".into()),
    ];
    let table: Vec<(Value, &str)> =
        table.iter().map(|(params, want)| (params.clone(), want.as_str())).collect();
    check("validate_model", &table).await;
}

#[tokio::test(start_paused = true)]
async fn options() {
    const METHODS: &str = "must be one of [standard, oxford, advocate, socratic, delphi, \
                           brainstorm, tradeoff], not";
    const TURNS: &str = "-32602 Invalid parameter: options.max_turns must be an integer between 1 \
                         and 100, not";
    const MODES: &str = "-32602 Invalid parameter: options.synthesizer_mode must be one of \
                         [first, random, rotate], not";
    let method =
        |shown: &str| format!("-32602 Invalid parameter: options.method {METHODS} {shown}");
    let table = [
        (run(json!(null)), "-32602 Invalid parameter: options must be an object, got null".into()),
        (run(json!([])), "-32602 Invalid parameter: options must be an object, got array".into()),
        (run(json!("x")), "-32602 Invalid parameter: options must be an object, got string".into()),
        (run(json!({})), UNKNOWN.into()),
        (run(json!({"unknown": 5})), UNKNOWN.into()),
        (run(json!({"method": null})), UNKNOWN.into()),
        (run(json!({"method": "duel"})), method("\"duel\"")),
        (run(json!({"method": "answer"})), method("\"answer\"")),
        (run(json!({"method": "Standard"})), method("\"Standard\"")),
        (run(json!({"method": ""})), method("\"\"")),
        (
            run(json!({"method": 5})),
            "-32602 Invalid parameter: options.method must be a string, got number".into(),
        ),
        (run(json!({"max_turns": null})), UNKNOWN.into()),
        (run(json!({"max_turns": 1})), UNKNOWN.into()),
        (run(json!({"max_turns": 100})), UNKNOWN.into()),
        (run(json!({"max_turns": 0})), format!("{TURNS} 0")),
        (run(json!({"max_turns": 101})), format!("{TURNS} 101")),
        (run(json!({"max_turns": -1})), format!("{TURNS} -1")),
        (run(json!({"max_turns": 1.5})), format!("{TURNS} 1.5")),
        (run(json!({"max_turns": true})), format!("{TURNS} true")),
        (run(json!({"max_turns": "5"})), format!("{TURNS} \"5\"")),
        (run(json!({"max_turns": 1e300})), format!("{TURNS} 1e+300")),
        (run(json!({"synthesizer_mode": null})), UNKNOWN.into()),
        (run(json!({"synthesizer_mode": "rotate"})), UNKNOWN.into()),
        (run(json!({"synthesizer_mode": ""})), format!("{MODES} \"\"")),
        (run(json!({"synthesizer_mode": "last"})), format!("{MODES} \"last\"")),
        (
            run(json!({"synthesizer_mode": 5})),
            "-32602 Invalid parameter: options.synthesizer_mode must be a string, got number"
                .into(),
        ),
    ];
    let table: Vec<(Value, &str)> =
        table.iter().map(|(params, want)| (params.clone(), want.as_str())).collect();
    check_run(&table).await;
}

#[tokio::test(start_paused = true)]
async fn roles() {
    const IDS: [&str; 4] = ["nobody", "b", "c", "d"];
    let given = |method: &str, roles: Value| {
        let options = json!({"method": method, "role_assignments": roles});
        json!({"question": "Why?", "model_ids": IDS, "options": options})
    };
    let oxford = |roles: Value| given("oxford", roles);
    let refused =
        |problem: &str| format!("-32602 Invalid parameter: options.role_assignments{problem}");
    let table = [
        (oxford(json!(null)), UNKNOWN.into()),
        (oxford(json!({})), UNKNOWN.into()),
        (oxford(json!([])), refused(" must be an object, got array")),
        (oxford(json!("FOR")), refused(" must be an object, got string")),
        (oxford(json!({"FOR": ["nobody", "c"], "AGAINST": ["d", "b"]})), UNKNOWN.into()),
        (oxford(json!({"FOR": ["nobody", "c"]})), refused(" must name AGAINST")),
        (oxford(json!({"AGAINST": ["nobody", "c"]})), refused(" must name FOR")),
        (
            oxford(json!({"FOR": "nobody", "AGAINST": []})),
            refused(".FOR must be a list, got string"),
        ),
        (oxford(json!({"FOR": null, "AGAINST": []})), refused(".FOR must be a list, got null")),
        (
            oxford(json!({"FOR": ["nobody", 5], "AGAINST": ["b", "d"]})),
            refused(".FOR[1] must be a string, got number"),
        ),
        (
            oxford(json!({"FOR": ["nobody"], "AGAINST": ["b", "c", "d"]})),
            refused(".FOR must have 2 models, not 1"),
        ),
        (
            oxford(json!({"FOR": ["nobody", "x"], "AGAINST": ["b", "c"]})),
            refused(".FOR names \"x\", which is not in model_ids or has a role already"),
        ),
        (
            oxford(json!({"FOR": ["nobody", "b"], "AGAINST": ["b", "c"]})),
            refused(".AGAINST names \"b\", which is not in model_ids or has a role already"),
        ),
        (
            oxford(json!({"FOR": ["nobody", "b"], "AGAINST": ["c", "d"], "Judge": ["d"]})),
            refused(" has no role \"Judge\" in oxford, only FOR, AGAINST"),
        ),
        (given("advocate", json!({"Advocate": ["b"]})), UNKNOWN.into()),
        (given("advocate", json!({"Defenders": ["nobody", "c", "d"]})), UNKNOWN.into()),
        (
            given("advocate", json!({"Advocate": ["b", "c"]})),
            refused(".Advocate must have 1 model, not 2"),
        ),
        (
            given("advocate", json!({"FOR": ["b", "c"]})),
            refused(" has no role \"FOR\" in advocate, only Defenders, Advocate"),
        ),
        (given("socratic", json!({"Respondent": ["d"]})), UNKNOWN.into()),
        (
            given("socratic", json!({"Respondent": []})),
            refused(".Respondent must have 1 model, not 0"),
        ),
        // Methods with one role or none have nothing to choose.
        (given("standard", json!({"FOR": ["x"]})), UNKNOWN.into()),
        (given("delphi", json!({"Panelists": ["x"]})), UNKNOWN.into()),
        (given("standard", json!(5)), refused(" must be an object, got number")),
    ];
    let table: Vec<(Value, &str)> =
        table.iter().map(|(params, want)| (params.clone(), want.as_str())).collect();
    check_run(&table).await;
}

#[tokio::test(start_paused = true)]
async fn roles_are_asked_for_and_swapped() {
    check(
        "get_role_assignments",
        &[
            (
                json!({"method": "duel", "model_ids": ["a"]}),
                "-32602 Invalid parameter: method must be one of [standard, oxford, advocate, \
                 socratic, delphi, brainstorm, tradeoff], not \"duel\"",
            ),
            (json!({"method": 5}), "-32602 Invalid parameter: method must be a string, got number"),
            (
                json!({"model_ids": "a"}),
                "-32602 Invalid parameter: model_ids must be a list, got string",
            ),
            (json!({"model_ids": ids(20)}), "ok"),
            (
                json!({"model_ids": ids(21)}),
                "-32602 Invalid parameter: model_ids cannot exceed 20 models",
            ),
            (
                json!({"model_ids": ["a b"]}),
                "-32602 Invalid parameter: model_ids[0] contains invalid characters: [' ']",
            ),
        ],
    )
    .await;
    check(
        "swap_role_assignments",
        &[
            (
                json!({"assignments": []}),
                "-32602 Invalid parameter: assignments must be an object, got array",
            ),
            (
                json!({"assignments": {"FOR": "a"}}),
                "-32602 Invalid parameter: assignments.FOR must be a list, got string",
            ),
            (
                json!({"assignments": {"FOR": [1]}}),
                "-32602 Invalid parameter: assignments.FOR[0] must be a string, got number",
            ),
            (
                json!({"assignments": {"FOR": ids(21)}}),
                "-32602 Invalid parameter: assignments.FOR cannot exceed 20 models",
            ),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn counts_of_a_method() {
    let run = |method: &str, count: usize| {
        let ids: Vec<String> = (0..count).map(|at| format!("demo:m{at}")).collect();
        json!({"question": "Why?", "model_ids": ids, "options": {"method": method}})
    };
    check_run(&[
        (run("oxford", 3), "-32000 oxford requires an even number of models, not 3"),
        (run("advocate", 2), "-32000 advocate requires at least 3 models, not 2"),
        (run("delphi", 2), "-32000 delphi requires at least 3 models, not 2"),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn models_that_nobody_could_serve() {
    let run = |id: &str| json!({"question": "Why?", "model_ids": ["demo:a", id]});
    check_run(&[
        (run("nobody"), UNKNOWN),
        (run("gpt-5.1"), "-32000 'gpt-5.1': OpenAI has no key: set OPENAI_API_KEY"),
        (run("openai:gpt-5.1"), "-32000 'openai:gpt-5.1': OpenAI has no key: set OPENAI_API_KEY"),
        (
            run("demo:a/b"),
            "-32000 'a/b' is no demo voice; try demo:builder, demo:skeptic, demo:scout",
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn settings() {
    const TURNS: &str = "-32602 Invalid parameter: max_turns must be an integer between 1 and 100, \
                         not";
    let table = [
        (json!({"unknown": 5}), "ok".to_string()),
        (json!({"max_turns": 1}), "ok".into()),
        (json!({"max_turns": 100}), "ok".into()),
        (json!({"max_turns": 0}), format!("{TURNS} 0")),
        (json!({"max_turns": 101}), format!("{TURNS} 101")),
        (json!({"max_turns": true}), format!("{TURNS} true")),
        (json!({"max_turns": "5"}), format!("{TURNS} \"5\"")),
        (
            json!({"selected_models": "a"}),
            "-32602 Invalid parameter: selected_models must be a list, got string".into(),
        ),
        (
            json!({"selected_models": ["a", 5]}),
            "-32602 Invalid parameter: selected_models[1] must be a string, got number".into(),
        ),
        (json!({"selected_models": ids(500)}), "ok".into()),
        (
            json!({"selected_models": ids(501)}),
            "-32602 Invalid parameter: selected_models cannot exceed 500 models".into(),
        ),
        (
            json!({"discussion_method": 5}),
            "-32602 Invalid parameter: discussion_method must be a string, got number".into(),
        ),
        (
            json!({"synthesizer_mode": "last"}),
            "-32602 Invalid parameter: synthesizer_mode must be one of [first, random, rotate], \
             not \"last\""
                .into(),
        ),
        (
            json!({"response_language": "xx"}),
            "-32602 Invalid parameter: response_language must be one of [en, sv, de, fr, es, it], \
             not \"xx\""
                .into(),
        ),
        (json!({"response_language": "it"}), "ok".into()),
    ];
    let table: Vec<(Value, &str)> =
        table.iter().map(|(params, want)| (params.clone(), want.as_str())).collect();
    check("save_user_settings", &table).await;
}

#[tokio::test(start_paused = true)]
async fn a_version_is_a_text() {
    check(
        "initialize",
        &[(
            json!({"protocol_version": 1}),
            "-32602 Invalid parameter: protocol_version must be a string, got number",
        )],
    )
    .await;
}
