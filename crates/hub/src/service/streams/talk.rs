//! What was said in one stream, as the model is told it.

use althing_chat::{Ask, Message, Role, Tool, ToolCall};
use althing_stdx::{Fault, Kind, Result};

/// Messages of one conversation; one more is refused.
pub(super) const MESSAGES_MAX: usize = 1000;
/// Bytes of one conversation, its tools included; a message that does not fit is refused.
pub(super) const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Tools that can be offered at once; more are refused.
pub(super) const TOOLS_MAX: usize = 256;

/// One conversation.
#[derive(Default)]
pub(super) struct Talk {
    messages: Vec<Message>,
    tools: Vec<Tool>,
}

impl Talk {
    /// Takes a message in, and tools in the place of those before where there are any. Says whether
    /// it is the model's turn now. What is refused leaves no trace.
    pub fn say(&mut self, message: Message, tools: Vec<Tool>) -> Result<bool> {
        let message = self.checked(message)?;
        if tools.len() > TOOLS_MAX {
            let text = format!("tools: at most {TOOLS_MAX}, not {}", tools.len());
            return Err(Fault::invalid(text));
        }
        let offered = if tools.is_empty() { &self.tools } else { &tools };
        let heard: usize = self.messages.iter().chain([&message]).map(message_bytes).sum();
        let full = match heard + offered.iter().map(tool_bytes).sum::<usize>() {
            _ if self.messages.len() >= MESSAGES_MAX => Some(format!("{MESSAGES_MAX} messages")),
            bytes if bytes > BYTES_MAX => Some(format!("{BYTES_MAX} bytes")),
            _ => None,
        };
        if let Some(limit) = full {
            let text = format!("message: a conversation holds {limit}; create another stream");
            return Err(Fault::new(Kind::ContextTooLong, text));
        }
        if !tools.is_empty() {
            self.tools = tools;
        }
        let role = message.role;
        self.messages.push(message);
        Ok(role == Role::User || (role == Role::Tool && self.open_calls().is_empty()))
    }

    /// What the model said. One that said nothing is not quoted as saying nothing.
    pub fn answered(&mut self, text: String, calls: Vec<ToolCall>) {
        if !text.is_empty() || !calls.is_empty() {
            self.messages.push(Message::calls(text, calls));
        }
    }

    /// The request for the model's turn.
    pub fn ask(&self) -> Ask {
        Ask { tools: self.tools.clone(), messages: self.messages.clone(), ..Ask::new("", "") }
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Forgets all but the first `len` messages.
    pub fn rewind(&mut self, len: usize) {
        self.messages.truncate(len);
    }

    /// Calls of the model that have no result yet, the oldest first.
    pub fn open_calls(&self) -> Vec<&ToolCall> {
        let results = self.messages.iter().rev().take_while(|it| it.role == Role::Tool).count();
        let (before, results) = self.messages.split_at(self.messages.len() - results);
        let mut open: Vec<&ToolCall> =
            before.last().into_iter().flat_map(|it| &it.tool_calls).collect();
        for id in results.iter().filter_map(|it| it.tool_call_id.as_ref()) {
            if let Some(at) = open.iter().position(|call| call.id == *id) {
                open.remove(at);
            }
        }
        open
    }

    /// The message if it may be said now, with the id of the call that it answers.
    fn checked(&self, mut message: Message) -> Result<Message> {
        let open = self.open_calls();
        if message.role == Role::Assistant {
            let text = "message.role: user, tool or system; the assistant speaks for itself";
            return Err(Fault::invalid(text));
        }
        if !message.tool_calls.is_empty() {
            return Err(Fault::invalid("message.tool_calls: only an assistant has them"));
        }
        let call = match &message.tool_call_id {
            Some(id) => open.iter().find(|call| call.id == *id),
            None => open.first(),
        };
        match (message.role, call) {
            (Role::Tool, Some(call)) => message.tool_call_id = Some(call.id.clone()),
            (Role::Tool, None) => {
                let ids: Vec<&str> = open.iter().map(|call| call.id.as_str()).collect();
                let ids = if ids.is_empty() { "none".into() } else { ids.join(", ") };
                let text = format!("message.tool_call_id: no such call is open; open: {ids}");
                return Err(Fault::invalid(text));
            }
            (_, Some(call)) if message.tool_call_id.is_none() => {
                let text = format!("message.role: tool, since the call '{}' is open", call.id);
                return Err(Fault::invalid(text));
            }
            (_, _) if message.tool_call_id.is_some() => {
                return Err(Fault::invalid("message.tool_call_id: only a tool's message has one"));
            }
            (_, _) => {}
        }
        Ok(message)
    }
}

fn message_bytes(message: &Message) -> usize {
    let calls = message.tool_calls.iter();
    let calls: usize = calls.map(|it| it.id.len() + it.name.len() + it.arguments.len()).sum();
    message.text.len() + calls + message.tool_call_id.as_ref().map_or(0, String::len)
}

fn tool_bytes(tool: &Tool) -> usize {
    tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
}
