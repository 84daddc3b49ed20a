//! The files of the web application, a row each, carried in the program.

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
    /// Whether it may keep an eye on the windows that it opens.
    has_popups: bool,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

const EXTENSIONS: &str = include_str!("assets/extensions.html");

pub(super) const ALL: &[Page] = &[
    page("/ui", HTML, include_str!("assets/council.html")),
    page("/ui/", HTML, include_str!("assets/council.html")),
    page("/ui/council.css", CSS, include_str!("assets/council.css")),
    page("/ui/council.js", SCRIPT, include_str!("assets/council.js")),
    Page { has_popups: true, ..page("/ui/extensions", HTML, EXTENSIONS) },
    page("/ui/extensions.css", CSS, include_str!("assets/extensions.css")),
    page("/ui/extensions.js", SCRIPT, include_str!("assets/extensions.js")),
    page("/ui/picker.js", SCRIPT, include_str!("assets/picker.js")),
    page("/ui/windows.js", SCRIPT, include_str!("assets/windows.js")),
    page("/ui/frame.css", CSS, include_str!("assets/frame.css")),
    page("/ui/frame.js", SCRIPT, include_str!("assets/frame.js")),
    page("/ui/icon.svg", SVG, include_str!("assets/icon.svg")),
];

const fn page(path: &'static str, content_type: &'static str, text: &'static str) -> Page {
    Page { path, content_type, text, has_popups: false }
}

impl Page {
    pub(super) fn reply(&self) -> Ready<Reply> {
        let mut reply = Response::new(Body::from(self.text));
        let content_type = HeaderValue::from_static(self.content_type);
        reply.headers_mut().insert(CONTENT_TYPE, content_type);
        if self.has_popups {
            // With the usual policy every window would look closed as soon as it is open.
            let policy = HeaderValue::from_static("same-origin-allow-popups");
            reply.headers_mut().insert("cross-origin-opener-policy", policy);
        }
        ready(reply)
    }
}
