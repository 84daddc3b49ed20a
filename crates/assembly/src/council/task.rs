//! What is to be planned: `task_spec`, checked.

use super::schema::{Form, PROBLEMS_MAX, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    pub task: String,
    pub constraints: Vec<String>,
    pub repo_context: Repo,
    pub preferences: Preferences,
    pub agents: Agents,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repo {
    pub root: Option<String>,
    pub paths: Vec<String>,
    pub notes: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    pub max_plans: Option<usize>,
    pub time_budget_sec: Option<u64>,
    pub random_seed: Option<i64>,
    pub language: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agents {
    pub planners: Vec<Agent>,
    pub judge: Option<Agent>,
}

/// Who plans or judges. Nothing is required: what is there says which model or program is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub cli: Option<String>,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub model: Option<String>,
    pub reasoning_effort: Option<String>,
    pub agent: Option<String>,
    pub format: Option<String>,
    pub cli_format: Option<String>,
    pub attach: Option<String>,
    pub command: Option<String>,
    pub prompt_mode: Option<String>,
    pub output_format: Option<String>,
    pub extra_args: Vec<String>,
    pub auth_mode: Option<String>,
    pub api_env_var: Option<String>,
    pub fallback_models: Vec<String>,
}

impl Agent {
    /// Which kind of agent it is: the first of `kind`, `cli`, `type` and `name` that is given.
    pub fn kind(&self) -> Option<&str> {
        let all = [&self.kind, &self.cli, &self.type_name, &self.name];
        all.into_iter().flatten().map(String::as_str).find(|it| !it.trim().is_empty())
    }
}

/// The task in `value`, or everything that is wrong with it.
pub fn read(value: &Value) -> Result<Task, Vec<Problem>> {
    let problems = problems_up_to(PROBLEMS_MAX, value);
    if !problems.is_empty() {
        return Err(problems);
    }
    super::plan::read(Form::TaskSpec, value)
}

/// What is wrong with the form of a task: at most so much.
pub fn problems_up_to(max: usize, value: &Value) -> Vec<Problem> {
    let mut problems = Form::TaskSpec.problems_up_to(max, value);
    // One without a single character is told already.
    let is_blank = |task: &str| !task.is_empty() && task.trim().is_empty();
    if problems.len() < max && value["task"].as_str().is_some_and(is_blank) {
        problems.push(Problem::new("$.task", "it is empty"));
    }
    problems
}

impl Task {
    /// The brief a planner gets: all that was said, or only task and constraints.
    pub fn brief(&self, reduced: bool) -> String {
        let mut brief = format!("Task: {}\n", self.task.trim());
        if !self.constraints.is_empty() {
            brief.push_str("\nConstraints:\n");
            self.constraints.iter().for_each(|it| brief.push_str(&format!("- {it}\n")));
        }
        if reduced {
            return brief;
        }
        let repo = &self.repo_context;
        if let Some(root) = &repo.root {
            // Only its name: where it lies on this machine is nobody's business.
            let name = root.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
            brief.push_str(&format!("\nRepository: {}\n", name.unwrap_or_default()));
        }
        if !repo.paths.is_empty() {
            brief.push_str("\nRelevant paths:\n");
            repo.paths.iter().for_each(|it| brief.push_str(&format!("- {it}\n")));
        }
        if let Some(notes) = repo.notes.as_ref().filter(|notes| !notes.trim().is_empty()) {
            brief.push_str(&format!("\nNotes: {}\n", notes.trim()));
        }
        brief
    }

    /// The same without what the judge need not know: who plans, and where the files lie.
    pub fn for_judge(&self) -> Value {
        let mut value = serde_json::json!({ "task": self.task });
        if !self.constraints.is_empty() {
            value["constraints"] = self.constraints.clone().into();
        }
        let repo = &self.repo_context;
        if !repo.paths.is_empty() || repo.notes.is_some() {
            let notes = repo.notes.clone().unwrap_or_default();
            value["repo_context"] = serde_json::json!({ "paths": repo.paths, "notes": notes });
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_whole_task_is_read() {
        let task = read(&json!({
            "task": "Move", "constraints": ["no downtime"],
            "repo_context": { "root": "/srv/ada/shop", "paths": ["src/db.rs"], "notes": "Rust" },
            "preferences": { "max_plans": 2, "time_budget_sec": 60.0, "random_seed": 7 },
            "agents": { "planners": [{ "type": "codex", "model": "gpt-5.1" }], "judge": {} }
        }));
        let task = task.unwrap();
        assert_eq!(task.agents.planners[0].kind(), Some("codex"));
        assert_eq!(task.preferences.time_budget_sec, Some(60));
        let brief = task.brief(false);
        assert!(brief.contains("Repository: shop") && brief.contains("- src/db.rs"), "{brief}");
        assert!(!brief.contains("/srv/ada"), "{brief}");
        assert_eq!(task.brief(true), "Task: Move\n\nConstraints:\n- no downtime\n");
        assert_eq!(Form::TaskSpec.problems(&task.for_judge()), []);
        assert!(task.for_judge().get("agents").is_none());
    }

    #[test]
    fn an_empty_task_is_none() {
        assert_eq!(read(&json!({ "task": "  " })).unwrap_err()[0].path, "$.task");
        assert!(read(&json!([])).is_err());
    }
}
