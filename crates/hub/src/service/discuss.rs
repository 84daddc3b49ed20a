//! A discussion for a program that asks: among the voices this machine has, held by the service and
//! kept in the history like any other.

use super::Service;
use crate::discover;
use crate::lineup::{self, Lineup};
use crate::runs::{Request, Run, Runs};
use althing_assembly::demo::Pace;
use althing_assembly::event::{Outcome, Parts, Speech, Totals, What};
use althing_assembly::{Event, Method};
use althing_stdx::Result;
use std::time::Duration;

/// How long the providers' lists are waited for.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a program wants discussed. What is none is as configured.
pub struct Discussion {
    pub question: String,
    pub method: &'static Method,
    /// Empty: the configured line-up, else one chosen from what is found.
    pub models: Vec<String>,
    pub rounds: Option<u32>,
    pub language: Option<String>,
    pub max_cost_usd: Option<f64>,
}

impl Service {
    /// Begins a discussion. Dropping the [`Run`] does not end it; its control does.
    pub async fn discuss(&self, wanted: Discussion) -> Result<Run> {
        let config = self.library.book().config.clone();
        let lineup = self.seat(&wanted).await?;
        let runs = Runs {
            store: self.store.clone(),
            gateway: self.gateway.clone(),
            pace: Pace { word_ms: 0 },
            config: config.clone(),
            #[cfg(test)]
            voices: Default::default(),
        };
        runs.start(Request {
            question: wanted.question,
            context: vec![],
            method: wanted.method,
            lineup,
            roles: None,
            rounds: wanted.rounds.unwrap_or(*config.rounds_per_agent),
            turns: None,
            synthesizer: *config.synthesizer,
            language: wanted.language.or_else(|| config.language.value.clone()),
            pause: None,
            max_cost_usd: Some(wanted.max_cost_usd.unwrap_or(*config.max_cost_usd)),
            estimate_usd: None,
            continues: None,
            tools: vec![],
            stream: true,
        })
        .await
    }

    async fn seat(&self, wanted: &Discussion) -> Result<Lineup> {
        let config = self.library.book().config.clone();
        if !wanted.models.is_empty() && !lineup::needs_discovery(&wanted.models, &config) {
            return lineup::resolve(&wanted.models, &config, None);
        }
        let found = discover::discover(&config, &self.gateway, PATIENCE).await;
        if wanted.models.is_empty() {
            return Ok(lineup::choose_for(&found, wanted.method, &config));
        }
        lineup::resolve(&wanted.models, &config, Some(&found))
    }
}

/// What a program learns of an event while it waits, in one line.
pub fn progress(event: &Event) -> Option<String> {
    match &event.what {
        What::PhaseStarted { phase, total, name, .. } => {
            Some(format!("phase {phase} of {total}: {name}"))
        }
        What::TurnStarted(turn) => Some(format!("{} is thinking", turn.name)),
        What::TurnEnded { by, outcome: Outcome::Said(_) } => Some(format!("{} has spoken", by.name)),
        What::TurnEnded { by, outcome: Outcome::Failed(failure) } => {
            Some(format!("{} failed: {}", by.name, failure.message))
        }
        _ => None,
    }
}

/// What a finished discussion came to, as text.
pub fn conclusion(event: &Event) -> Option<String> {
    let What::TurnEnded { by, outcome: Outcome::Said(said) } = &event.what else { return None };
    match &said.parts {
        Parts::Synthesis(it) => {
            let mut text = it.synthesis.clone();
            let parts = [("Agreed", &it.agreed), ("Open", &it.differences)];
            for (title, part) in parts.into_iter().filter(|(_, part)| !part.trim().is_empty()) {
                text.push_str(&format!("\n\n{title}: {}", part.trim()));
            }
            if !it.consensus.is_empty() {
                text.push_str(&format!("\n\nConsensus: {}", it.consensus));
            }
            Some(text)
        }
        _ if by.speech == Speech::Synthesis => Some(said.text.clone()),
        _ => None,
    }
}

/// Tokens and money of a run, from its last event.
pub fn totals(event: &Event) -> Option<Totals> {
    match &event.what {
        What::RunEnded { totals, .. } => Some(*totals),
        _ => None,
    }
}
