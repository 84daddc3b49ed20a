//! What every voice is told besides the discussion itself.

use super::*;
use crate::event::{Continued, Quoted};
use crate::prompt::hear;

fn quoted(name: &str, text: &str) -> Quoted {
    Quoted { name: name.into(), text: text.into() }
}

#[tokio::test(start_paused = true)]
async fn files_language_stance_and_what_came_before() {
    for method in ALL {
        let mut table = table(method.name, 4);
        table.opening.language = Some("German".into());
        table.opening.context = vec![quoted("plan.md", "the plan")];
        table.opening.seats[1].stance = Some("Be thrifty.".into());
        table.opening.continues = Some(Continued {
            run: "r0".into(),
            question: "Hot or cold?".into(),
            synthesis: "Hot.".into(),
            positions: vec![quoted("ada", "Hot, I say.")],
        });
        table.opening.synthesizers = vec![1, 0, 2, 3];
        table.hold().await;
        for call in table.stage.calls() {
            let (system, heard) = (call.ask.system(), hear(&call.ask));
            assert!(system.contains("Write in German,"), "{system}");
            assert_eq!(heard.question, QUESTION);
            let known = heard.quotes[..4].iter().map(|(name, text)| format!("{name}: {text}"));
            assert_eq!(
                known.collect::<Vec<_>>(),
                [
                    "the file plan.md: the plan",
                    "the earlier question: Hot or cold?",
                    "ada: Hot, I say.",
                    "the earlier synthesis: Hot.",
                ]
            );
            let is_thrifty = heard.plain.contains("Be thrifty.");
            let is_bob = call.seat == "test:bob-1" && !is_synthesis_ask(&call.ask);
            assert_eq!(is_thrifty, is_bob, "a stance is its seat's own, and no judge's: {system}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_label_asked_for_is_one_line_in_capitals() {
    for method in ALL {
        let table = table(method.name, 4);
        table.hold().await;
        for call in table.stage.calls() {
            let heard = hear(&call.ask);
            let form = heard.plain.split("labels in capitals:\n").nth(1).unwrap_or_default();
            assert_eq!(form.lines().count(), heard.labels.len(), "{form}");
        }
    }
}
