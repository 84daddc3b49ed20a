//! A message with its pictures and documents, in the order in which they were put.

use althing_chat::{Attachment, AttachmentKind, AttachmentSource, Message, Role};
use althing_stdx::Fault;
use std::borrow::Cow;

/// What a message that shows what tools returned begins with.
const SHOWN: &str = "What the tools returned besides:";
/// Types of files by the ends of their addresses.
const TYPES: &[(&str, &str)] = &[
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".gif", "image/gif"),
    (".webp", "image/webp"),
    (".pdf", "application/pdf"),
];

/// A stretch of a message.
pub(super) enum Stretch<'a> {
    /// Text, and where it begins in the message's.
    Text(usize, &'a str),
    Attachment(&'a Attachment),
}

/// Cuts a message where something stands between its words. Empty texts are left out.
pub(super) fn pieces(message: &Message) -> Vec<Stretch<'_>> {
    let (text, mut pieces, mut from) = (message.text.as_str(), vec![], 0);
    for attachment in &message.attachments {
        let until = text.floor_char_boundary(attachment.at.max(from));
        push_text(&mut pieces, text, from, until);
        pieces.push(Stretch::Attachment(attachment));
        from = until;
    }
    push_text(&mut pieces, text, from, text.len());
    pieces
}

fn push_text<'a>(pieces: &mut Vec<Stretch<'a>>, text: &'a str, from: usize, until: usize) {
    if from < until {
        pieces.push(Stretch::Text(from, &text[from..until]));
    }
}

/// The messages with what tools showed in a message of its own behind the results, for dialects in
/// which a result is only text.
pub(super) fn text_results(messages: &[Message]) -> Cow<'_, [Message]> {
    let shows = |it: &Message| it.role == Role::Tool && !it.attachments.is_empty();
    if !messages.iter().any(shows) {
        return messages.into();
    }
    let (mut all, mut shown) = (Vec::with_capacity(messages.len() + 1), vec![]);
    for message in messages {
        if message.role != Role::Tool {
            all.extend(show(&mut shown));
        }
        let mut message = message.clone();
        if message.role == Role::Tool {
            shown.append(&mut message.attachments);
        }
        all.push(message);
    }
    all.extend(show(&mut shown));
    all.into()
}

fn show(shown: &mut Vec<Attachment>) -> Option<Message> {
    let attachments = std::mem::take(shown).into_iter();
    let attachments: Vec<_> = attachments.map(|it| Attachment { at: SHOWN.len(), ..it }).collect();
    (!attachments.is_empty()).then(|| Message { attachments, ..Message::user(SHOWN) })
}

/// The type of a file: as it was stated, else as its address ends, else that of its kind.
pub(super) fn media_type(attachment: &Attachment) -> Option<&str> {
    let stated = attachment.media_type.as_deref();
    stated.or_else(|| match &attachment.source {
        AttachmentSource::Url(url) => {
            let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
            TYPES.iter().find(|(end, _)| path.ends_with(end)).map(|(_, kind)| *kind)
        }
        AttachmentSource::Base64(_) => Some(match attachment.kind {
            AttachmentKind::Image => "image/png",
            AttachmentKind::Document => "application/pdf",
        }),
    })
}

/// The address that holds the whole file.
pub(super) fn data_url(attachment: &Attachment, data: &str) -> String {
    let kind = media_type(attachment).unwrap_or_default();
    ["data:", kind, ";base64,", data].concat()
}

/// What `who` does not take, and what to do instead.
pub(super) fn refuse(attachment: &Attachment, who: &str, lacks: &str, instead: &str) -> Fault {
    Fault::invalid(format!("{}: {who} {lacks}; {instead}", attachment.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(at: usize) -> Attachment {
        Attachment {
            name: "p".into(),
            kind: AttachmentKind::Image,
            media_type: None,
            source: AttachmentSource::Url("https://x/P.PNG?size=2".into()),
            pages: None,
            at,
        }
    }

    fn shown(message: &Message) -> String {
        let piece = |piece: &Stretch<'_>| match piece {
            Stretch::Text(at, text) => format!("{at}:{text}"),
            Stretch::Attachment(it) => format!("[{}]", it.name),
        };
        pieces(message).iter().map(piece).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn pictures_stand_where_they_were_put() {
        let with = |places: &[usize]| Message {
            attachments: places.iter().map(|at| picture(*at)).collect(),
            ..Message::user("né to")
        };
        assert_eq!(shown(&with(&[])), "0:né to");
        assert_eq!(shown(&with(&[0])), "[p] 0:né to");
        assert_eq!(shown(&with(&[3, 3, 6])), "0:né [p] [p] 3: to [p]");
        // Inside a character, behind the end, out of order.
        assert_eq!(shown(&with(&[2, 99, 1])), "0:n [p] 1:é to [p] [p]");
    }

    #[test]
    fn what_tools_show_stands_behind_all_results() {
        let tool = |id: &str| Message { attachments: vec![picture(0)], ..Message::tool(id, "r") };
        let messages = [tool("a"), Message::tool("b", "s"), tool("c"), Message::user("Well?")];
        let all = text_results(&messages);
        let roles: Vec<_> = all.iter().map(|it| (it.role, it.attachments.len())).collect();
        let (tool, user) = (Role::Tool, Role::User);
        assert_eq!(roles, [(tool, 0), (tool, 0), (tool, 0), (user, 2), (user, 0)]);
        assert!(matches!(text_results(&messages[3..]), Cow::Borrowed(_)));
    }

    #[test]
    fn an_address_tells_the_type() {
        assert_eq!(media_type(&picture(0)), Some("image/png"));
    }
}
