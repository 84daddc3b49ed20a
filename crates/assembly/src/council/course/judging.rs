//! The second half of the course: what the judge makes of the plans, or the score where no judge can.

use super::{Council, Decision, Entry};
use crate::council::anonymise::{Redaction, restore, restored};
use crate::council::attempt::{Asker, Read};
use crate::council::extract::is_refusal;
use crate::council::judge::Judged;
use crate::council::merge::{self, Warning};
use crate::council::plan::{Plan, Verdict};
use crate::council::{JUDGE, judge, prompt, score};
use crate::event::{Judgement, Scored, Sealed, What};
use althing_stdx::{Fault, Kind, Result};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::watch;

impl Council<'_> {
    pub(super) async fn judge(
        &self,
        entries: &[Entry],
        sealed: &Sealed,
        warnings: &mut Vec<Warning>,
    ) -> Result<Decision> {
        let plans: Vec<(String, Value)> =
            entries.iter().map(|it| (it.label.clone(), it.value.clone())).collect();
        let covered = &sealed.redactions;
        let mut told = Vec::new();
        let decision = match self.verdict(&plans, covered).await? {
            Ok(Judged { verdict, repairs, .. }) => {
                let name = self.floor.role(JUDGE).first().map_or("", |seat| &seat.name);
                self.tell_repairs(name, &repairs, warnings).await?;
                self.decided(&verdict, entries, &mut told)
            }
            Err(why) if self.terms.fallback => self.fall_back(entries, &why, &mut told)?,
            Err(why) => {
                let message = format!("the judge gave no valid verdict: {why}");
                return Err(Fault::new(Kind::Upstream, message));
            }
        };
        for warning in told {
            // What people read has no marks.
            let message = restored(&warning.message, covered);
            self.warn(warnings, Warning { message, ..warning }).await?;
        }
        if !self.floor.past().is_judged {
            let judgement = Box::new(in_plain_words(&decision.judgement, covered)?);
            self.floor.append(What::PlansJudged(judgement)).await?;
        }
        Ok(decision)
    }

    /// The judge's verdict, or why there is none.
    async fn verdict(
        &self,
        plans: &[(String, Value)],
        covered: &[Redaction],
    ) -> Result<Result<Judged, String>> {
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
            covered,
        };
        let labels: Vec<String> = plans.iter().map(|(label, _)| label.clone()).collect();
        let write = |how: &prompt::How| prompt::judge(&self.setting(), plans, how);
        let asked = asker.ask(write, |text| self.read_verdict(text, &labels)).await?;
        Ok(asked.result.map(|(judged, _)| judged))
    }

    fn read_verdict(&self, text: &str, labels: &[String]) -> Read<Judged> {
        match judge::read(text, labels, &self.own_words) {
            Ok(judged) => {
                let summary = format!("{} is selected", judged.verdict.selected_plan);
                match judged.flaws.clone() {
                    flaws if flaws.is_empty() => Read::Good { value: judged, summary },
                    flaws => Read::Flawed { value: judged, summary, flaws },
                }
            }
            Err(_) if is_refusal(text) => Read::Refused,
            Err(problems) => Read::Bad(problems),
        }
    }

    fn decided(
        &self,
        verdict: &Verdict,
        entries: &[Entry],
        warnings: &mut Vec<Warning>,
    ) -> Decision {
        let plans: Vec<(String, Plan)> =
            entries.iter().map(|it| (it.label.clone(), it.plan.clone())).collect();
        let (body, mended) = merge::of_verdict(verdict, &plans);
        warnings.extend(mended);
        let scored = |entry: &Entry| {
            let found = verdict.scores.iter().find(|score| score.label == entry.label);
            let Some(found) = found else { return scored(entry, 0.0, "") };
            Scored {
                strengths: found.strengths.clone(),
                weaknesses: found.weaknesses.clone(),
                ..scored(entry, found.score, &found.rationale)
            }
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
        Decision { body, judgement, used }
    }

    /// The best plan by its own merits, where nobody could compare them.
    fn fall_back(
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
        warnings.push(Warning::new("judge_fallback", message));
        let body = plans[best].clone().into_body();
        warnings.extend(merge::loose_ends(&body));
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

/// A judgement with everything put back that the judge did not see.
pub(super) fn in_plain_words(judgement: &Judgement, covered: &[Redaction]) -> Result<Judgement> {
    let mut value = serde_json::to_value(judgement).map_err(Fault::internal)?;
    restore(&mut value, covered);
    serde_json::from_value(value).map_err(Fault::internal)
}

fn scored(entry: &Entry, score: f64, rationale: &str) -> Scored {
    Scored {
        label: entry.label.clone(),
        seat: entry.seat,
        name: entry.name.clone(),
        score,
        rationale: rationale.to_string(),
        strengths: vec![],
        weaknesses: vec![],
    }
}
