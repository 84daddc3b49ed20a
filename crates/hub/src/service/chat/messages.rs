//! What a conversation must look like before it is sent anywhere.

use althing_chat::{Message, Role};
use althing_stdx::{Fault, Result};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Messages of one conversation.
pub const MESSAGES_MAX: usize = 10_000;
/// Bytes of all texts and tool calls of one conversation together.
pub const MESSAGES_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The messages, fit to be sent: a tool message that does not say which call it answers, answers
/// the oldest open one.
pub fn check_messages(mut messages: Vec<Message>) -> Result<Vec<Message>> {
    let count = messages.len();
    if count == 0 || count > MESSAGES_MAX {
        return Err(Fault::invalid(format!("messages: 1 to {MESSAGES_MAX}, not {count}")));
    }
    let bytes: usize = messages.iter().map(bytes_of).sum();
    if bytes > MESSAGES_BYTES_MAX {
        let text = format!("messages: at most {MESSAGES_BYTES_MAX} bytes together, not {bytes}");
        return Err(Fault::invalid(text));
    }
    let mut open: VecDeque<String> = VecDeque::new();
    for (at, message) in messages.iter_mut().enumerate() {
        match message.role {
            Role::Tool => answer(at, message, &mut open)?,
            Role::Assistant => open.extend(message.tool_calls.iter().map(|call| call.id.clone())),
            Role::System | Role::User if !message.tool_calls.is_empty() => {
                let text = format!("messages[{at}].tool_calls: only an assistant asks for tools");
                return Err(Fault::invalid(text));
            }
            Role::System | Role::User => {}
        }
    }
    Ok(messages)
}

/// Closes the call that a tool message answers.
fn answer(at: usize, message: &mut Message, open: &mut VecDeque<String>) -> Result<()> {
    match &message.tool_call_id {
        Some(id) => open.retain(|known| known != id),
        None => {
            let none = || {
                let text = "a tool message must answer a call, and none is open";
                Fault::invalid(format!("messages[{at}].tool_call_id: {text}"))
            };
            message.tool_call_id = Some(open.pop_front().ok_or_else(none)?);
        }
    }
    Ok(())
}

fn bytes_of(message: &Message) -> usize {
    let calls = message.tool_calls.iter();
    let calls: usize = calls.map(|it| it.id.len() + it.name.len() + it.arguments.len()).sum();
    message.text.len() + calls
}

/// What stays the same from one call of a conversation to the next: its instructions and its first
/// question.
pub fn affinity(messages: &[Message]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let instructions = messages.iter().take_while(|it| it.role == Role::System);
    let question = messages.iter().find(|it| it.role == Role::User);
    for message in instructions.chain(question) {
        message.text.hash(&mut hasher);
    }
    hasher.finish()
}
