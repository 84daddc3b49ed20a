use super::*;
use crate::methods::tests::kit::{Record, table};
use crate::past::Past;
use std::sync::Arc;

/// Masks of seats called as given, each the next panelist.
fn masks(seats: &[(&str, &str)]) -> Masks {
    let mut table = table("delphi", seats.len());
    for (info, (name, model)) in table.opening.seats.iter_mut().zip(seats) {
        (info.name, info.model) = (name.to_string(), model.to_string());
    }
    Masks::lettered(&table.floor(Past::none(), Arc::new(Record::new(&[]))), "P")
}

#[tokio::test(start_paused = true)]
async fn names_and_ids_are_masked_as_whole_words() {
    let masks = masks(&[
        ("GPT 5", "openai:gpt-5"),
        ("GPT 5.1", "router:openai/gpt-5.1"),
        ("Sol", "local:sol"),
        ("Sol 2", "local:sol"),
        ("É", "x:e"),
    ]);
    for (text, want) in [
        ("GPT 5 said so", "P A said so"),
        ("GPT 5.1 said so.", "P B said so."),
        ("GPT 5.2 is nobody here", "GPT 5.2 is nobody here"),
        ("gpt 5, GPT-5 and openai:gpt-5", "P A, P A and P A"),
        ("router:openai/gpt-5.1, openai/gpt-5.1, gpt-5.1", "P B, P B, P B"),
        ("Sol's view, not Sol 2's: (SOL)", "P C's view, not P D's: (P C)"),
        ("local:sol has two seats", "a participant has two seats"),
        ("solid, consoles and e", "solid, consoles and e"),
        ("é, É", "P E, P E"),
        ("**GPT 5**: _Sol_", "**P A**: _P C_"),
        ("GPT 5", "P A"),
        ("", ""),
        ("東京 GPT 5。", "東京 P A。"),
    ] {
        assert_eq!(masks.text(text), want, "{text}");
    }
}
