//! One page that needs nothing else: no script, no image, nothing fetched. All text is escaped and
//! shown as it was written.

use super::sheet::{self, Sheet};
use super::{Account, Format};
use althing_assembly::Event;
use althing_stdx::text::one_line;

pub(super) const FORMAT: Format =
    Format { name: "html", about: "one web page without scripts", write };

/// Characters of the question in the window's title.
const TITLE_CHARS: usize = 100;

const STYLE: &str = "
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5;
  font-family: system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8888; font-size: 1.25rem; }
h3 { margin-bottom: .25rem; font-size: 1rem; }
h4 { margin: .75rem 0 .25rem; font-size: .85rem; }
p { margin: .25rem 0; }
blockquote { margin: .25rem 0; padding-left: 1rem; border-left: 3px solid #8888;
  white-space: pre-wrap; }
.remark { font-style: italic; }
";

fn write(account: &Account, _: &[Event]) -> String {
    let mut html = Html(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escape(&one_line(&account.question, TITLE_CHARS))
    ));
    sheet::write(account, &mut html);
    html.0 + "</body>\n</html>\n"
}

struct Html(String);

impl Html {
    fn element(&mut self, open: &str, close: &str, text: &str) {
        let text = escape(text);
        self.0.push_str(&format!("<{open}>{text}</{close}>\n"));
    }
}

impl Sheet for Html {
    fn title(&mut self, line: &str) {
        self.element("h1", "h1", line);
    }

    fn fact(&mut self, name: &str, line: &str) {
        let (name, line) = (escape(name), escape(line));
        self.0.push_str(&format!("<p><b>{name}:</b> {line}</p>\n"));
    }

    fn heading(&mut self, line: &str) {
        self.element("h2", "h2", line);
    }

    fn speaker(&mut self, line: &str) {
        self.element("h3", "h3", line);
    }

    fn label(&mut self, line: &str) {
        self.element("h4", "h4", line);
    }

    fn passage(&mut self, text: &str) {
        self.element("blockquote dir=\"auto\"", "blockquote", text.trim());
    }

    fn remark(&mut self, line: &str) {
        self.element("p class=\"remark\"", "p", line);
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
