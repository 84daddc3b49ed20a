//! OpenAI's responses: items instead of messages, and an event for every step of each.

mod read;
mod write;

use super::{Dialect, Echo};
use crate::face::http::shape::Shape;
use althing_gateway::dialect::openai::OPENAI;

pub(in super::super) static DIALECT: Dialect = Dialect {
    path: "/responses",
    shape: Shape::OpenAi,
    upstream: &OPENAI,
    // Others have it in part, or in their own way. An address of the person's own may lack it too,
    // which is found out.
    passes: |provider| provider.name == "openai",
    headers: &["openai-beta"],
    names: &[("effort", "reasoning.effort"), ("max_tokens", "max_output_tokens")],
    read: read::read,
    writer: |head| Box::new(write::Items::new(head)),
};

impl Echo {
    /// Whether the tool called `name` takes text.
    fn is_custom(&self, name: &str) -> bool {
        self.custom.iter().any(|it| it == name)
    }
}

/// The one field of a tool that takes text, where it has to be a function.
const INPUT: &str = "input";
