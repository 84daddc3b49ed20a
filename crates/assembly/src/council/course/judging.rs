//! The second half of the course: what the judge makes of the plans, or the score where no judge can.

use super::{Council, Decision, Entry};
use crate::council::attempt::{Asker, Read};
use crate::council::extract::is_refusal;
use crate::council::merge::{self, Warning};
use crate::council::plan::{Plan, Verdict};
use crate::council::schema::Form;
use crate::council::{JUDGE, judge, prompt, score};
use crate::event::{Judgement, Scored, What};
use althing_stdx::{Fault, Kind, Result};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::watch;

impl Council<'_> {
    pub(super) async fn judge(
        &self,
        entries: &[Entry],
        warnings: &mut Vec<Warning>,
    ) -> Result<Decision> {
        let plans: Vec<(String, Value)> =
            entries.iter().map(|it| (it.label.clone(), it.value.clone())).collect();
        let input = prompt::judge_input(&self.task, &plans);
        if let Some(problem) = Form::JudgeInput.problems(&input).first() {
            return Err(Fault::internal(format!("the judge's input: {problem}")));
        }
        let decision = match self.verdict(&plans).await? {
            Ok(verdict) => self.decided(&verdict, entries, warnings).await?,
            Err(why) if self.terms.fallback => self.fall_back(entries, &why, warnings).await?,
            Err(why) => {
                let message = format!("the judge gave no valid verdict: {why}");
                return Err(Fault::new(Kind::Upstream, message));
            }
        };
        if !self.floor.past().is_judged {
            let judgement = Box::new(decision.judgement.clone());
            self.floor.append(What::PlansJudged(judgement)).await?;
        }
        Ok(decision)
    }

    /// The judge's verdict, or why there is none.
    async fn verdict(&self, plans: &[(String, Value)]) -> Result<Result<Verdict, String>> {
        let Some(seat) = self.floor.role(JUDGE).into_iter().next() else {
            return Ok(Err("there is no judge".into()));
        };
        let asker = Asker {
            floor: self.floor,
            seat,
            role: JUDGE,
            attempt: Duration::from_millis(self.terms.attempt_ms),
            until: self.began + self.budget(),
            enough: watch::Sender::new(false).subscribe(),
            may_ask: true,
            is_full: false,
        };
        let labels: Vec<String> = plans.iter().map(|(label, _)| label.clone()).collect();
        let write = |how: &prompt::How| prompt::judge(&self.setting(), plans, how);
        let asked = asker.ask(write, |text| self.read_verdict(text, &labels)).await?;
        Ok(asked.result.map(|(verdict, _)| verdict))
    }

    fn read_verdict(&self, text: &str, labels: &[String]) -> Read<Verdict> {
        match judge::read(text, labels, &self.own_words) {
            Ok(judge::Judged { verdict, flaws }) => {
                let summary = format!("{} is selected", verdict.selected_plan);
                match flaws.is_empty() {
                    true => Read::Good { value: verdict, summary },
                    false => Read::Flawed { value: verdict, summary, flaws },
                }
            }
            Err(_) if is_refusal(text) => Read::Refused,
            Err(problems) => Read::Bad(problems),
        }
    }

    async fn decided(
        &self,
        verdict: &Verdict,
        entries: &[Entry],
        warnings: &mut Vec<Warning>,
    ) -> Result<Decision> {
        let plans: Vec<(String, Plan)> =
            entries.iter().map(|it| (it.label.clone(), it.plan.clone())).collect();
        let (body, mended) = merge::of_verdict(verdict, &plans);
        for warning in mended {
            self.warn(warnings, warning).await?;
        }
        let scored = |entry: &Entry| {
            let score = verdict.scores.iter().find(|score| score.label == entry.label);
            let (score, rationale) =
                score.map_or((0.0, ""), |score| (score.score, score.rationale.as_str()));
            scored(entry, score, rationale)
        };
        let judgement = Judgement {
            fallback: false,
            selected: verdict.selected_plan.clone(),
            scores: entries.iter().map(scored).collect(),
            analysis: verdict.comparative_analysis.clone(),
            missing_steps: verdict.missing_steps.clone(),
            contradictions: verdict.contradictions.clone(),
            improvements: verdict.improvements.clone(),
        };
        let used = entries.iter().map(|entry| entry.name.clone()).collect();
        Ok(Decision { body, judgement, used })
    }

    /// The best plan by its own merits, where nobody could compare them.
    async fn fall_back(
        &self,
        entries: &[Entry],
        why: &str,
        warnings: &mut Vec<Warning>,
    ) -> Result<Decision> {
        let plans: Vec<Plan> = entries.iter().map(|entry| entry.plan.clone()).collect();
        let points = score::score(&plans, &self.task.constraints);
        let best =
            score::best(&plans, &points).ok_or_else(|| Fault::internal("no plan is left"))?;
        let message = format!(
            "the judge gave no valid verdict ({why}); the best-scored plan stands as it is"
        );
        self.warn(warnings, Warning::new("judge_fallback", message)).await?;
        let body = plans[best].clone().into_body();
        for warning in merge::loose_ends(&body) {
            self.warn(warnings, warning).await?;
        }
        let scored = |(entry, points): (&Entry, &score::Points)| {
            scored(entry, points.total(), "by the score that stands in for a judge")
        };
        let judgement = Judgement {
            fallback: true,
            selected: entries[best].label.clone(),
            scores: entries.iter().zip(&points).map(scored).collect(),
            analysis: String::new(),
            missing_steps: vec![],
            contradictions: vec![],
            improvements: vec![],
        };
        let used = vec![entries[best].name.clone()];
        Ok(Decision { body, judgement, used })
    }
}

fn scored(entry: &Entry, score: f64, rationale: &str) -> Scored {
    Scored {
        label: entry.label.clone(),
        seat: entry.seat,
        name: entry.name.clone(),
        score,
        rationale: rationale.to_string(),
    }
}
