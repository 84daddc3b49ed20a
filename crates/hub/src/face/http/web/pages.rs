//! The files of the web application, a row each, carried in the program. Pages are put into one frame.

use super::super::reply::Reply;
use axum::body::Body;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use std::future::{Ready, ready};

/// One file and where it is found.
pub(super) struct Page {
    pub path: &'static str,
    content_type: &'static str,
    text: &'static str,
    /// What is around the text.
    sheet: Option<&'static Sheet>,
}

/// What the frame of a page says; its files are called `name`.
struct Sheet {
    path: &'static str,
    name: &'static str,
    title: &'static str,
    /// The way past the frame.
    skip: &'static str,
    /// Whether it may keep an eye on the windows that it opens.
    has_popups: bool,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

const FRAME: &str = include_str!("assets/frame.html");

/// In the order in which every page names them.
static SHEETS: [Sheet; 2] = [
    Sheet {
        path: "/ui/",
        name: "council",
        title: "Council",
        skip: "To the run",
        has_popups: false,
    },
    Sheet {
        path: "/ui/extensions",
        name: "extensions",
        title: "Extensions",
        skip: "To the message",
        has_popups: true,
    },
];

pub(super) static ALL: &[Page] = &[
    framed("/ui", &SHEETS[0], include_str!("assets/council.html")),
    framed("/ui/", &SHEETS[0], include_str!("assets/council.html")),
    page("/ui/council.css", CSS, include_str!("assets/council.css")),
    page("/ui/council.js", SCRIPT, include_str!("assets/council.js")),
    framed("/ui/extensions", &SHEETS[1], include_str!("assets/extensions.html")),
    page("/ui/extensions.css", CSS, include_str!("assets/extensions.css")),
    page("/ui/extensions.js", SCRIPT, include_str!("assets/extensions.js")),
    page("/ui/dialogue.js", SCRIPT, include_str!("assets/dialogue.js")),
    page("/ui/message.js", SCRIPT, include_str!("assets/message.js")),
    page("/ui/picker.js", SCRIPT, include_str!("assets/picker.js")),
    page("/ui/text.js", SCRIPT, include_str!("assets/text.js")),
    page("/ui/windows.js", SCRIPT, include_str!("assets/windows.js")),
    page("/ui/frame.css", CSS, include_str!("assets/frame.css")),
    page("/ui/frame.js", SCRIPT, include_str!("assets/frame.js")),
    page("/ui/icon.svg", SVG, include_str!("assets/icon.svg")),
];

const fn page(path: &'static str, content_type: &'static str, text: &'static str) -> Page {
    Page { path, content_type, text, sheet: None }
}

const fn framed(path: &'static str, sheet: &'static Sheet, body: &'static str) -> Page {
    Page { path, content_type: HTML, text: body, sheet: Some(sheet) }
}

impl Page {
    pub(super) fn reply(&self) -> Ready<Reply> {
        let body = match self.sheet {
            Some(sheet) => Body::from(sheet.around(self.text)),
            None => Body::from(self.text),
        };
        let mut reply = Response::new(body);
        let content_type = HeaderValue::from_static(self.content_type);
        reply.headers_mut().insert(CONTENT_TYPE, content_type);
        if self.sheet.is_some_and(|sheet| sheet.has_popups) {
            // With the usual policy every window would look closed as soon as it is open.
            let policy = HeaderValue::from_static("same-origin-allow-popups");
            reply.headers_mut().insert("cross-origin-opener-policy", policy);
        }
        ready(reply)
    }
}

impl Sheet {
    /// The whole page. The body comes last: what stands in it is not filled in.
    fn around(&self, body: &str) -> String {
        let link = |sheet: &Sheet| {
            let current = if sheet.name == self.name { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{}\"{current}>{}</a>", sheet.path, sheet.title)
        };
        let pages: Vec<String> = SHEETS.iter().map(link).collect();
        let filled = FRAME.replace("{title}", self.title).replace("{name}", self.name);
        let filled = filled.replace("{skip}", self.skip).replace("{pages}", &pages.join("\n  "));
        filled.replace("{body}", body)
    }
}
