//! Whether plain output is a refusal. A command of the person's own has no field that says so.

/// Beginnings of a refusal, in small letters.
const BEGINNINGS: &[&str] = &[
    "i can't",
    "i cannot",
    "i can not",
    "i'm sorry",
    "i am sorry",
    "sorry,",
    "i won't",
    "i will not",
    "i'm unable",
    "i am unable",
    "i'm not able",
    "i am not able",
    "i must decline",
    "i have to decline",
    "as an ai",
    "unable to comply",
    "i'm afraid i can't",
    "ich kann",
    "leider kann ich",
    "es tut mir leid",
    "tut mir leid",
    "je ne peux pas",
    "je suis désolé",
    "désolé",
    "lo siento",
    "no puedo",
];
/// What is refused: an answer such as "I cannot recommend it" is none.
const REFUSED: &[&str] = &[
    "help with",
    "help you with",
    "assist",
    "comply",
    "fulfil",
    "do that",
    "do this",
    "this request",
    "that request",
    "your request",
    "continue with this",
    "discuss this",
    "discuss that",
    "engage with",
    "provide that",
    "must decline",
    "have to decline",
    "nicht helfen",
    "nicht weiterhelfen",
    "nicht nachkommen",
    "vous aider",
    "cette demande",
    "ayudarte",
    "ayudarle",
    "esta solicitud",
];
/// A longer text says more than that it refuses.
const REFUSAL_CHARS_MAX: usize = 400;

/// Whether all that `text` says is that the task is declined.
pub(crate) fn is_refusal(text: &str) -> bool {
    let text = text.trim();
    if text.chars().count() > REFUSAL_CHARS_MAX || text.contains('{') {
        return false;
    }
    let small = text.to_lowercase().replace('’', "'");
    BEGINNINGS.iter().any(|words| small.starts_with(words))
        && REFUSED.iter().any(|words| small.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_an_answer() {
        for (text, want) in [
            ("I'm sorry, but I can't help with that.\n", true),
            ("I’m unable to assist with this request.", true),
            ("As an AI, I must decline.", true),
            ("Ich kann dabei leider nicht helfen.", true),
            ("Je suis désolé, je ne peux pas vous aider.", true),
            ("Lo siento, no puedo ayudarte con eso.", true),
            ("Ich kann den Monolithen empfehlen.", false),
            ("I cannot recommend a monolith for three teams.", false),
            ("Sorry, the second plan is better: it has a way back.", false),
            ("Yes. I'm sorry, but I can't help with that.", false),
            ("{\"note\": \"I cannot help with that\"}", false),
            ("", false),
        ] {
            assert_eq!(is_refusal(text), want, "{text}");
        }
        let long = format!("I cannot help with that part. {}", "But here is more. ".repeat(40));
        assert!(!is_refusal(&long));
    }
}
