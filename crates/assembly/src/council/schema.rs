//! The five forms of the protocol as JSON Schema 2020-12 files, and what is wrong with a value.

use althing_stdx::text::one_line;
use jsonschema::{Draft, Registry, Validator};
use serde_json::{Value, json};
use std::fmt;
use std::sync::OnceLock;

/// Problems told of one value; a value with more has enough to be mended first.
pub const PROBLEMS_MAX: usize = 40;
/// Characters of one problem: the library repeats the value it complains about.
const PROBLEM_CHARS_MAX: usize = 240;

/// One of the protocol's forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    TaskSpec,
    CouncilPlan,
    JudgeInput,
    JudgeOutput,
    FinalPlan,
}

/// Name and text, in the order of the enum.
const FILES: [(&str, &str); 5] = [
    ("task_spec", include_str!("schema/task_spec.json")),
    ("council_plan", include_str!("schema/council_plan.json")),
    ("judge_input", include_str!("schema/judge_input.json")),
    ("judge_output", include_str!("schema/judge_output.json")),
    ("final_plan", include_str!("schema/final_plan.json")),
];

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `$.phases[0].name`.
    pub path: String,
    pub what: String,
}

impl Problem {
    pub fn new(path: impl Into<String>, what: impl AsRef<str>) -> Problem {
        Problem { path: path.into(), what: one_line(what.as_ref(), PROBLEM_CHARS_MAX) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

impl Form {
    /// As the protocol calls it.
    pub fn name(self) -> &'static str {
        FILES[self as usize].0
    }

    /// The schema itself.
    pub fn text(self) -> &'static str {
        FILES[self as usize].1
    }

    fn id(self) -> String {
        format!("urn:althing:council:{}", self.name())
    }

    /// The names of its own fields, without those of what is inside them.
    pub fn fields(self) -> &'static [String] {
        static FIELDS: [OnceLock<Vec<String>>; FILES.len()] =
            [const { OnceLock::new() }; FILES.len()];
        FIELDS[self as usize].get_or_init(|| {
            let schema: Value = serde_json::from_str(self.text()).unwrap_or_default();
            let fields = schema["properties"].as_object();
            fields.map(|it| it.keys().cloned().collect()).unwrap_or_default()
        })
    }

    /// What is wrong with `value`; nothing where it fits. At most [`PROBLEMS_MAX`].
    pub fn problems(self, value: &Value) -> Vec<Problem> {
        self.problems_up_to(PROBLEMS_MAX, value)
    }

    /// The same, with another limit.
    pub fn problems_up_to(self, max: usize, value: &Value) -> Vec<Problem> {
        let errors = self.validator().iter_errors(value).take(max);
        errors.map(|e| Problem::new(path(e.instance_path().as_str()), e.to_string())).collect()
    }

    /// The forms it refers to, at any depth.
    fn parts(self) -> &'static [Form] {
        match self {
            Form::TaskSpec | Form::CouncilPlan => &[],
            Form::JudgeInput => &[Form::TaskSpec, Form::CouncilPlan],
            Form::JudgeOutput => &[Form::CouncilPlan],
            Form::FinalPlan => &[Form::JudgeOutput, Form::CouncilPlan],
        }
    }

    /// Built when it is first needed: a task is checked before anybody can begin, and waits for
    /// its own form only.
    fn validator(self) -> &'static Validator {
        static VALIDATORS: [OnceLock<Validator>; FILES.len()] =
            [const { OnceLock::new() }; FILES.len()];
        VALIDATORS[self as usize].get_or_init(|| build(self))
    }
}

/// Makes ready what checks plans and verdicts, which takes a moment that nobody should wait for.
pub(super) fn prepare() {
    for form in [Form::CouncilPlan, Form::JudgeInput, Form::JudgeOutput, Form::FinalPlan] {
        form.validator();
    }
}

/// The check of one form. The library holds what it is given against its metaschema and makes that
/// first: nine documents for 2020-12, which is most of the work. So it is given a mere reference, of
/// draft 7 with its one document. The form behind it is the 2020-12 that it says it is, and the tests
/// hold it against that metaschema.
fn build(form: Form) -> Validator {
    let parsed = |text| -> Value { serde_json::from_str(text).expect("the test parses each") };
    let mut registry = Registry::new();
    for part in form.parts().iter().chain([&form]) {
        let added = registry.add(part.id(), parsed(part.text()));
        registry = added.expect("the test builds the registry");
    }
    let registry = registry.prepare().expect("the test builds the registry");
    let reference = json!({ "$ref": form.id() });
    let options = jsonschema::options().with_registry(&registry).with_draft(Draft::Draft7);
    options.build(&reference).expect("the test builds them all")
}

/// `/phases/0/name` as `$.phases[0].name`.
fn path(pointer: &str) -> String {
    let mut path = String::from("$");
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
            path.push_str(&format!("[{part}]"));
        } else {
            path.push('.');
            path.push_str(&part);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::tests::kit;
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(form: Form, value: Value, paths: &[&str]) {
        let mut found: Vec<String> = form.problems(&value).into_iter().map(|it| it.path).collect();
        found.sort();
        assert_eq!(found, paths, "{:?}", form.problems(&value));
    }

    fn with(mut value: Value, pointer: &str, change: Value) -> Value {
        *value.pointer_mut(pointer).unwrap() = change;
        value
    }

    #[test]
    fn a_task_is_checked_field_by_field() {
        let check = |value, paths: &[&str]| check(Form::TaskSpec, value, paths);
        check(json!({ "task": "x" }), &[]);
        check(json!({}), &["$"]);
        check(json!({ "task": "" }), &["$.task"]);
        check(json!({ "task": 1, "constraints": ["a", 2] }), &["$.constraints[1]", "$.task"]);
        check(json!({ "task": "x", "run_id": "../../escaped" }), &["$"]);
        let preferences = |it: Value| json!({ "task": "x", "preferences": it });
        check(preferences(json!({ "max_plans": 17 })), &["$.preferences.max_plans"]);
        check(preferences(json!({ "max_plans": 16, "random_seed": -3 })), &[]);
        check(preferences(json!({ "time_budget_sec": 29 })), &["$.preferences.time_budget_sec"]);
        let seed = |it: Value| preferences(json!({ "random_seed": it }));
        let exact = (1_i64 << 53) - 1;
        for fits in [json!(exact), json!(-exact), json!(5.0), json!(-exact as f64)] {
            assert!(crate::council::task::read(&seed(fits.clone())).is_ok(), "{fits}");
        }
        for large in [json!(exact + 1), json!(-exact - 1), json!(1_u64 << 63), json!(1e30)] {
            check(seed(large), &["$.preferences.random_seed"]);
        }
        let agents = |it: Value| json!({ "task": "x", "agents": it });
        check(agents(json!({ "planners": [] })), &["$.agents.planners"]);
        let many: Vec<Value> = (0..17).map(|_| json!({})).collect();
        check(agents(json!({ "planners": many })), &["$.agents.planners"]);
        let odd = json!({ "planners": [{ "prompt_mode": "fax" }], "judge": { "colour": "red" } });
        check(agents(odd), &["$.agents.judge", "$.agents.planners[0].prompt_mode"]);
    }

    #[test]
    fn a_plan_is_checked_to_its_last_task() {
        let plan = kit::plan("Ship it");
        check(Form::CouncilPlan, plan.clone(), &[]);
        let task = "/phases/0/tasks/0";
        for (field, value) in [
            ("steps", json!([])),
            ("complexity", json!(11)),
            ("complexity", json!("hard")),
            ("title", json!("")),
            ("dependencies", json!([1])),
        ] {
            let broken = with(plan.clone(), &format!("{task}/{field}"), value);
            let item = if field == "dependencies" { "[0]" } else { "" };
            check(Form::CouncilPlan, broken, &[&format!("$.phases[0].tasks[0].{field}{item}")]);
        }
        check(Form::CouncilPlan, with(plan.clone(), "/phases", json!([])), &["$.phases"]);
        check(
            Form::CouncilPlan,
            with(plan, task, json!({ "extra": 1 })),
            &["$.phases[0].tasks[0]"; 9],
        );
    }

    #[test]
    fn the_judges_forms_hold_one_to_sixteen_plans() {
        let input = |count: usize| {
            let plans: Vec<Value> = (1..=count)
                .map(|n| json!({ "label": format!("Plan {n}"), "plan": kit::plan("x") }))
                .collect();
            let rubric = json!({ "criteria": [{ "name": "coverage", "weight": 1 }] });
            json!({ "task_spec": { "task": "x" }, "plans": plans, "rubric": rubric })
        };
        check(Form::JudgeInput, input(1), &[]);
        check(Form::JudgeInput, input(16), &[]);
        check(Form::JudgeInput, input(0), &["$.plans"]);
        check(Form::JudgeInput, input(17), &["$.plans"]);
        let output = kit::verdict(&["Plan 1", "Plan 2"], "Plan 2");
        check(Form::JudgeOutput, output.clone(), &[]);
        check(
            Form::JudgeOutput,
            with(output, "/scores/0/score", json!(10.5)),
            &["$.scores[0].score"],
        );
    }

    #[test]
    fn every_schema_is_a_schema_and_closed() {
        for (name, text) in FILES {
            let schema: Value = serde_json::from_str(text).unwrap();
            assert!(jsonschema::meta::is_valid(&schema), "{name}");
            assert_eq!(schema["$id"], format!("urn:althing:council:{name}"));
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            closed(name, &schema);
        }
    }

    /// Every object says what may be in it.
    fn closed(name: &str, value: &Value) {
        if value["type"] == "object" {
            assert!(!value["additionalProperties"].is_null(), "{name}: an open object: {value}");
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|it| closed(name, it)),
            Value::Array(items) => items.iter().for_each(|it| closed(name, it)),
            _ => {}
        }
    }
}
