//! One reply between the model and the client: deltas in, pieces out, and only so many of them in
//! between. A value: whoever has it does the waiting.

use super::super::words::Received;
use althing_chat::{Answer, Delta, Stop, ToolCall};
use althing_stdx::{Fault, Kind, Result};
use std::collections::VecDeque;

/// Pieces that wait for the client; the model is not listened to until there is room.
pub(super) const PIECES_MAX: usize = 64;
/// Their bytes; a single piece may be larger.
pub(super) const PIECES_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a whole reply, which is kept for the conversation; a longer one fails.
pub(super) const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A reply under way.
#[derive(Default)]
pub(super) struct Reply {
    pieces: VecDeque<Piece>,
    bytes: usize,
    answer: Answer,
    answer_bytes: usize,
    end: Option<Result<()>>,
}

enum Piece {
    Text(String),
    /// Shown to the client, and no part of the answer or of the conversation.
    Reasoning(String),
    Call(ToolCall),
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            Piece::Text(text) | Piece::Reasoning(text) => text.len(),
            Piece::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
        }
    }
}

/// What the client gets next.
pub(super) enum Given {
    Pieces(Received),
    /// The last: the whole answer, or why there is none.
    End(Result<Answer>),
}

impl Reply {
    /// Whether the model may go on.
    pub fn has_room(&self) -> bool {
        self.pieces.len() < PIECES_MAX && self.bytes < PIECES_BYTES_MAX
    }

    /// Takes in what the model said, or that it said its last. True: there will be no more.
    pub fn take_in(&mut self, item: Option<Result<Delta>>) -> bool {
        match item {
            _ if self.end.is_some() => {}
            None => self.fail(Fault::new(Kind::Network, "the answer broke off")),
            Some(Err(fault)) => self.fail(fault),
            Some(Ok(Delta::Text(text))) if !text.is_empty() => self.push(Piece::Text(text)),
            Some(Ok(Delta::ToolCall(call))) => self.push(Piece::Call(call)),
            Some(Ok(Delta::Stop(Stop::Refused))) if self.answer_bytes == 0 => {
                self.fail(Fault::new(Kind::Refused, "the model declined to answer"));
            }
            Some(Ok(delta @ Delta::Stop(_))) => {
                self.answer.add(delta);
                self.end = Some(Ok(()));
            }
            Some(Ok(delta @ Delta::Usage(_))) => self.answer.add(delta),
            Some(Ok(Delta::Reasoning(text))) if !text.is_empty() => self.think(text),
            Some(Ok(_)) => {}
        }
        self.end.is_some()
    }

    /// The next for the client in the order of the model: thoughts or text as far as they are there,
    /// or one call, and then the end. None: nothing yet.
    pub fn give(&mut self, max_chunks: usize) -> Option<Given> {
        let mut received = Received::default();
        for piece in self.pieces.drain(..self.alike(max_chunks)) {
            self.bytes -= piece.bytes();
            match piece {
                Piece::Text(text) => received.chunks.push(text),
                Piece::Reasoning(text) => received.reasoning.push_str(&text),
                Piece::Call(call) => received.tool_call = Some(call),
            }
        }
        if received != Received::default() {
            return Some(Given::Pieces(received));
        }
        let end = self.end.take()?;
        Some(Given::End(end.map(|()| std::mem::take(&mut self.answer))))
    }

    /// How many pieces at the front go together.
    fn alike(&self, max: usize) -> usize {
        let count = |is_it: fn(&&Piece) -> bool| self.pieces.iter().take_while(is_it).count();
        let texts = count(|piece| matches!(piece, Piece::Text(_)));
        let thoughts = count(|piece| matches!(piece, Piece::Reasoning(_)));
        texts.max(thoughts).clamp(1, max).min(self.pieces.len())
    }

    /// Takes in a thought. Those that wait become one, so that they cost few answers.
    fn think(&mut self, text: String) {
        self.bytes += text.len();
        match self.pieces.back_mut() {
            Some(Piece::Reasoning(before)) => before.push_str(&text),
            _ => self.pieces.push_back(Piece::Reasoning(text)),
        }
    }

    fn push(&mut self, piece: Piece) {
        self.answer_bytes += piece.bytes();
        if self.answer_bytes > ANSWER_BYTES_MAX {
            let text = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
            return self.fail(Fault::new(Kind::Upstream, text));
        }
        self.answer.add(match &piece {
            Piece::Text(text) => Delta::Text(text.clone()),
            Piece::Reasoning(text) => Delta::Reasoning(text.clone()),
            Piece::Call(call) => Delta::ToolCall(call.clone()),
        });
        self.bytes += piece.bytes();
        self.pieces.push_back(piece);
    }

    fn fail(&mut self, fault: Fault) {
        self.end = Some(Err(fault));
    }
}
