//! Pictures and PDFs among the files of a question: recognised by what is in them, not by their
//! names.

use crate::lineup::Sitting;
use althing_chat::{Ask, Attachment, AttachmentKind, AttachmentSource};
use althing_stdx::{Fault, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// Bytes of a picture: in base64 as many as the strictest of the large providers takes. A larger one
/// is refused.
pub const IMAGE_BYTES_MAX: usize = 3_750_000;
/// Bytes of a document.
pub const DOCUMENT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Pictures and documents of one question; more are refused.
pub const ATTACHMENTS_MAX: usize = 16;
/// Bytes of all of them in base64: every turn sends them again, and the large providers take
/// requests of 20 MB.
pub const ATTACHED_BYTES_MAX: usize = 19_000_000;
const PDF_MARK: &[u8] = b"%PDF-";
/// Where the mark of a PDF stands at the latest.
const PDF_MARK_WITHIN: usize = 1_024;

/// The type of a file that models look at.
fn media_type(bytes: &[u8]) -> Option<(AttachmentKind, &'static str)> {
    use AttachmentKind::{Document, Image};
    let begin = &bytes[..bytes.len().min(PDF_MARK_WITHIN)];
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some((Image, "image/png")),
        [0xff, 0xd8, 0xff, ..] => Some((Image, "image/jpeg")),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some((Image, "image/gif")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            Some((Image, "image/webp"))
        }
        _ if begin.windows(PDF_MARK.len()).any(|it| it == PDF_MARK) => {
            Some((Document, "application/pdf"))
        }
        _ => None,
    }
}

/// Whether this is a picture or a PDF, which is not read as text.
pub fn is_attachment(bytes: &[u8]) -> bool {
    media_type(bytes).is_some()
}

/// The file as what stands beside the words of a question; none where it is neither a picture (PNG,
/// JPEG, GIF, WebP) nor a PDF. Errors call it `name`.
pub fn read_attachment(name: &str, bytes: &[u8]) -> Result<Option<Attachment>> {
    let Some((kind, media_type)) = media_type(bytes) else { return Ok(None) };
    let (what, most) = match kind {
        AttachmentKind::Image => ("picture", IMAGE_BYTES_MAX),
        AttachmentKind::Document => ("document", DOCUMENT_BYTES_MAX),
    };
    if bytes.len() > most {
        return Err(Fault::invalid(format!(
            "{name}: a {what} of {} bytes; at most {most}; make it smaller",
            bytes.len()
        )));
    }
    Ok(Some(Attachment {
        name: name.into(),
        kind,
        media_type: Some(media_type.into()),
        source: AttachmentSource::Base64(Arc::from(STANDARD.encode(bytes))),
        pages: (kind == AttachmentKind::Document).then(|| count_pages(bytes)).flatten(),
        at: 0,
    }))
}

/// Before the type of an object in a PDF.
const PDF_TYPE: &[u8] = b"/Type";

/// Pages of a PDF, as far as they stand there uncompressed.
fn count_pages(bytes: &[u8]) -> Option<u32> {
    let is_page = |rest: &[u8]| {
        let name = rest.trim_ascii_start().strip_prefix(b"/Page");
        name.is_some_and(|behind| !behind.first().is_some_and(u8::is_ascii_alphanumeric))
    };
    let is_type = |at: &usize| bytes[*at..].starts_with(PDF_TYPE);
    let types = (0..bytes.len()).filter(is_type).map(|at| &bytes[at + PDF_TYPE.len()..]);
    u32::try_from(types.filter(|rest| is_page(rest)).count()).ok().filter(|pages| *pages > 0)
}

/// Fails where there are too many, or they are too large together.
pub(crate) fn check_attachments(all: &[Attachment]) -> Result<()> {
    if all.len() > ATTACHMENTS_MAX {
        return Err(Fault::invalid(format!(
            "files: {} pictures and documents; at most {ATTACHMENTS_MAX}",
            all.len()
        )));
    }
    let bytes: usize = all.iter().map(Attachment::wire_bytes).sum();
    if bytes > ATTACHED_BYTES_MAX {
        return Err(Fault::invalid(format!(
            "files: pictures and documents of {bytes} bytes in base64 together; at most \
             {ATTACHED_BYTES_MAX}; give fewer or smaller ones"
        )));
    }
    Ok(())
}

/// Fails where a seat is known not to see what comes with the question. What a model behind a known
/// dialect makes of it, only its server can tell.
pub(crate) fn check_seats(seats: &[Sitting], all: &[Attachment]) -> Result<()> {
    if all.is_empty() { Ok(()) } else { seats.iter().try_for_each(|seat| check_seat(seat, all)) }
}

fn check_seat(seat: &Sitting, all: &[Attachment]) -> Result<()> {
    let mut ask = Ask::new("", "");
    if let Some(message) = ask.messages.last_mut() {
        message.attachments = all.to_vec();
    }
    if seat.agent.is_some() {
        return ask.check_text_only(&seat.name);
    }
    // Of several targets one is enough.
    let mut last = Ok(());
    for target in &seat.targets {
        let provider = target.endpoint.provider;
        last = match provider.name == althing_gateway::WORKER.name {
            true => ask.check_text_only(&seat.name),
            false => (provider.dialect.write)(&target.model, &ask).map(|_| ()),
        };
        if last.is_ok() {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], want: Option<&str>) {
        let read = read_attachment("f", bytes).unwrap();
        assert_eq!(read.and_then(|it| it.media_type).as_deref(), want);
    }

    #[test]
    fn files_are_known_by_what_is_in_them() {
        check(b"\x89PNG\r\n\x1a\nrest", Some("image/png"));
        check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
        check(b"GIF89a", Some("image/gif"));
        check(b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp"));
        check(b"\n%PDF-1.7\n", Some("application/pdf"));
        check(b"RIFF\0\0\0\0WAVE", None);
        check(b"# A PNG", None);
        check(b"", None);
    }

    #[test]
    fn pages_are_counted_where_they_can_be_seen() {
        let pages = |body: &str| {
            let file = format!("%PDF-1.4 {body}");
            read_attachment("f", file.as_bytes()).unwrap().unwrap().pages
        };
        assert_eq!(pages("<</Type /Pages>> <</Type/Page/X 1>> <</Type /Page>>"), Some(2));
        assert_eq!(pages("compressed"), None);
    }

    #[test]
    fn limits_name_the_file_and_the_limit() {
        let mut large = b"\xff\xd8\xff".to_vec();
        large.resize(IMAGE_BYTES_MAX + 1, 0);
        let fault = read_attachment("p.jpg", &large).unwrap_err();
        assert!(fault.message.starts_with("p.jpg: a picture of 3750001 bytes; at most 3750000"));
        let one = read_attachment("p", &large[..IMAGE_BYTES_MAX]).unwrap().unwrap();
        assert!(check_attachments(&vec![one.clone(); 3]).is_ok());
        let fault = check_attachments(&vec![one.clone(); 4]).unwrap_err();
        assert!(fault.message.contains("at most 19000000"), "{fault}");
        let fault = check_attachments(&vec![one; ATTACHMENTS_MAX + 1]).unwrap_err();
        assert!(fault.message.contains("at most 16"), "{fault}");
    }
}
