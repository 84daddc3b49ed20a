//! Pictures and documents that stand beside the words of a message.

use crate::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Tokens that a picture takes at most at the large providers, as they scale it.
const IMAGE_TOKENS: u64 = 2_000;
/// Tokens of a page: its text, and its picture, which most providers read as well.
const PAGE_TOKENS: u64 = 4_500;
/// Pages of a document where nobody could count them.
const PAGES_UNKNOWN: u64 = 10;

/// A picture or a document in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What errors call it: the name of a file, or the field of a request.
    pub name: String,
    pub kind: AttachmentKind,
    /// `image/png`; none where an address does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    pub source: AttachmentSource,
    /// Pages of a document, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// The byte offset in the message's text before which it stands.
    #[serde(default)]
    pub at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Image,
    /// A PDF.
    Document,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// The bytes in base64. Shared, since every turn of a discussion sends them again.
    #[serde(serialize_with = "write_shared", deserialize_with = "read_shared")]
    Base64(Arc<str>),
    /// Where the provider is to fetch it.
    Url(String),
}

impl Attachment {
    /// Returns the tokens that it takes, guessed on the safe side.
    pub fn tokens(&self) -> u64 {
        match self.kind {
            AttachmentKind::Image => IMAGE_TOKENS,
            AttachmentKind::Document => {
                self.pages.map_or(PAGES_UNKNOWN, |pages| u64::from(pages).max(1)) * PAGE_TOKENS
            }
        }
    }

    /// Returns the characters of text that take as many tokens.
    pub fn as_chars(&self) -> usize {
        self.tokens() as usize * Usage::CHARS_PER_TOKEN
    }

    /// Returns how many bytes a request has of it.
    pub fn wire_bytes(&self) -> usize {
        match &self.source {
            AttachmentSource::Base64(data) => data.len(),
            AttachmentSource::Url(url) => url.len(),
        }
    }
}

fn write_shared<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

fn read_shared<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(from).map(Arc::from)
}
