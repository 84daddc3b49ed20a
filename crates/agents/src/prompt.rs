//! An agent reads one text: a request as that text.

use althing_chat::{Ask, Message, Role};

/// The whole request. One question stands as it is; a conversation has its speakers named.
pub(crate) fn text(ask: &Ask) -> String {
    let system = ask.system();
    let talk: Vec<&Message> = ask.messages.iter().filter(|it| it.role != Role::System).collect();
    let talk = match talk.as_slice() {
        [] => String::new(),
        [only] => only.text.clone(),
        several => conversation(several),
    };
    match (system.is_empty(), talk.is_empty()) {
        (false, false) => format!("{system}\n\n{talk}"),
        _ => system + &talk,
    }
}

fn conversation(messages: &[&Message]) -> String {
    let mut text = String::from("The conversation so far; answer its last message.\n");
    for message in messages {
        let speaker = match message.role {
            Role::User | Role::System => "User",
            Role::Assistant => "You",
            Role::Tool => "Result of a tool",
        };
        text += &format!("\n[{speaker}]\n{}\n", message.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_question_stands_as_it_is_and_a_conversation_names_its_speakers() {
        assert_eq!(text(&Ask::new("", "Why?")), "Why?");
        assert_eq!(text(&Ask::new("Be brief.", "Why?")), "Be brief.\n\nWhy?");
        let mut ask = Ask::new("Be brief.", "Why?");
        ask.messages.extend([Message::assistant("So."), Message::user("And now?")]);
        let expected = "Be brief.\n\nThe conversation so far; answer its last message.\n\n\
                        [User]\nWhy?\n\n[You]\nSo.\n\n[User]\nAnd now?\n";
        assert_eq!(text(&ask), expected);
        ask.messages.truncate(1);
        assert_eq!(text(&ask), "Be brief.");
    }
}
