//! What a message says: words, and the pictures and documents between them.

use super::field::Field;
use althing_chat::{Attachment, AttachmentKind, AttachmentSource, Message};
use althing_stdx::Result;
use std::sync::Arc;

const PDF: &str = "application/pdf";
/// Why a file that the provider keeps cannot be read.
const KEPT: &str =
    "a file that a provider keeps cannot be read by this model; send the file itself";

/// The content of one message as far as it is read.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

impl Content {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.attachments.is_empty()
    }

    /// Puts a picture or a document behind the words so far. Errors call it by its `field`.
    pub(super) fn attach(&mut self, field: &Field, kind: AttachmentKind, file: File) {
        self.attachments.push(Attachment {
            name: field.path().into(),
            kind,
            media_type: file.media_type,
            source: file.source,
            pages: None,
            at: self.text.len(),
        });
    }

    /// Puts words before everything else.
    pub(super) fn prefix(&mut self, words: &str) {
        self.text.insert_str(0, words);
        self.attachments.iter_mut().for_each(|it| it.at += words.len());
    }

    /// The message, which is given its words.
    pub(super) fn into_message(self, said: impl FnOnce(String) -> Message) -> Message {
        Message { attachments: self.attachments, ..said(self.text) }
    }
}

/// A file in a request.
pub(super) struct File {
    pub media_type: Option<String>,
    pub source: AttachmentSource,
}

impl File {
    /// Reads an address, which may hold the file itself.
    pub(super) fn at(address: &Field) -> Result<File> {
        let url = address.wanted_text()?;
        if let Some(data) = url.strip_prefix("data:") {
            let wrong = || address.bad("must be data:<type>;base64,<data>");
            let (kind, data) = data.split_once(',').ok_or_else(wrong)?;
            let kind = kind.strip_suffix(";base64").ok_or_else(wrong)?;
            return Ok(File::of(kind, data));
        }
        if url.starts_with("https://") || url.starts_with("http://") {
            return Ok(File { media_type: None, source: AttachmentSource::Url(url.into()) });
        }
        Err(address.bad("must begin with https://, http:// or data:"))
    }

    /// A file of this type, in base64.
    pub(super) fn of(kind: &str, data: &str) -> File {
        let kind = kind.split(';').next().unwrap_or_default().to_ascii_lowercase();
        let source = AttachmentSource::Base64(Arc::from(data));
        File { media_type: Some(kind).filter(|kind| !kind.is_empty()), source }
    }
}

/// Reads OpenAI's content, be it a text or parts, in both forms of a request.
pub(super) fn read_content(content: &Field) -> Result<Content> {
    if content.is_absent() || content.value.is_string() {
        let text = content.text()?.unwrap_or_default().into();
        return Ok(Content { text, attachments: vec![] });
    }
    let mut read = Content::default();
    for part in content.list()? {
        read_part(&part, &mut read)?;
    }
    Ok(read)
}

fn read_part(part: &Field, read: &mut Content) -> Result<()> {
    match part.kind()? {
        "text" | "input_text" | "output_text" => {
            read.text.push_str(part.get("text").wanted_text()?);
        }
        "refusal" => read.text.push_str(part.get("refusal").wanted_text()?),
        "image_url" => {
            let file = File::at(&part.get("image_url").get("url"))?;
            read.attach(part, AttachmentKind::Image, file);
        }
        "input_image" => {
            refuse_kept(&part.get("file_id"))?;
            let file = File::at(&part.get("image_url"))?;
            read.attach(part, AttachmentKind::Image, file);
        }
        "file" => read_document(part, &part.get("file"), read)?,
        "input_file" => read_document(part, part, read)?,
        kind => return Err(part.get("type").bad(format!("'{kind}' cannot be sent to this model"))),
    }
    Ok(())
}

fn read_document(part: &Field, file: &Field, read: &mut Content) -> Result<()> {
    refuse_kept(&file.get("file_id"))?;
    let (data, url) = (file.get("file_data"), file.get("file_url"));
    let document = match data.text()? {
        None if url.is_absent() => return Err(data.bad("is missing")),
        None => File::at(&url)?,
        Some(bare) if !bare.starts_with("data:") => File::of(PDF, bare),
        Some(_) => File::at(&data)?,
    };
    if document.media_type.as_deref().is_some_and(|kind| kind != PDF) {
        return Err(data.bad("of files, only PDF can be sent; send the text as text"));
    }
    read.attach(part, AttachmentKind::Document, document);
    Ok(())
}

fn refuse_kept(id: &Field) -> Result<()> {
    id.refuse_if(!id.is_absent(), KEPT)
}

/// Reads the `source` of Anthropic's block: a picture or a document. A document may be text.
pub(super) fn read_block(block: &Field, kind: AttachmentKind, read: &mut Content) -> Result<()> {
    let source = block.get("source");
    let file = match source.kind()? {
        "base64" => {
            let (kind, data) = (source.get("media_type"), source.get("data"));
            File::of(kind.wanted_text()?, data.wanted_text()?)
        }
        "url" => File::at(&source.get("url"))?,
        "text" if kind == AttachmentKind::Document => {
            read.text.push_str(source.get("data").wanted_text()?);
            return Ok(());
        }
        "file" => return Err(source.get("type").bad(KEPT)),
        other => {
            return Err(source.get("type").bad(format!("'{other}' cannot be sent to this model")));
        }
    };
    read.attach(block, kind, file);
    Ok(())
}
