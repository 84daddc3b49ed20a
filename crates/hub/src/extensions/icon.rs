//! Icons of extensions: SVG with nothing in it but shapes. What is not known to be harmless is left
//! out; what is no SVG gives no icon. A page shows the rest as an image, never as markup.

/// Bytes of an icon; a longer one is none.
const ICON_BYTES_MAX: usize = 64 << 10;
/// Elements within elements.
const DEPTH_MAX: usize = 32;

const ELEMENTS: &[&str] = &[
    "svg",
    "g",
    "defs",
    "path",
    "circle",
    "ellipse",
    "rect",
    "line",
    "polyline",
    "polygon",
    "linearGradient",
    "radialGradient",
    "stop",
    "clipPath",
];

const ATTRIBUTES: &[&str] = &[
    "viewBox",
    "width",
    "height",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "fx",
    "fy",
    "d",
    "points",
    "transform",
    "fill",
    "fill-rule",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-opacity",
    "opacity",
    "clip-path",
    "clip-rule",
    "id",
    "offset",
    "stop-color",
    "stop-opacity",
    "gradientUnits",
    "gradientTransform",
    "color",
];

const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// The shapes of an icon; none where it has none.
pub fn clean(svg: &str) -> Option<String> {
    if svg.len() > ICON_BYTES_MAX {
        return None;
    }
    let mut reader = Reader { rest: svg, out: String::new(), open: vec![] };
    while reader.step()? {}
    (reader.open.is_empty() && reader.out.starts_with("<svg")).then_some(reader.out)
}

struct Reader<'a> {
    rest: &'a str,
    out: String,
    /// The elements around, and whether each is kept.
    open: Vec<(&'a str, bool)>,
}

impl<'a> Reader<'a> {
    /// Reads up to the end of the next tag; false at the end, none where it cannot be read.
    fn step(&mut self) -> Option<bool> {
        let Some(at) = self.rest.find('<') else { return Some(false) };
        self.rest = &self.rest[at..];
        for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")] {
            if self.rest.starts_with(start) {
                let over = self.rest.find(end)? + end.len();
                self.rest = &self.rest[over..];
                return Some(true);
            }
        }
        let closes = self.rest.starts_with("</");
        self.rest = &self.rest[1 + usize::from(closes)..];
        let name = self.word()?;
        if closes {
            self.close(name)?
        } else {
            self.element(name)?
        }
        Some(true)
    }

    fn word(&mut self) -> Option<&'a str> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        let end = self.rest.find(|c| !fits(c))?;
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn close(&mut self, name: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix('>')?;
        let (opened, is_kept) = self.open.pop()?;
        if is_kept {
            self.out.push_str(&format!("</{name}>"));
        }
        (opened == name).then_some(())
    }

    fn element(&mut self, name: &'a str) -> Option<()> {
        let is_root = self.open.is_empty();
        // One root, which is the picture.
        if is_root && (name != "svg" || !self.out.is_empty()) || self.open.len() >= DEPTH_MAX {
            return None;
        }
        let around = self.open.last().is_none_or(|(_, is_kept)| *is_kept);
        let is_kept = around && ELEMENTS.contains(&name);
        let mut tag = format!("<{name}");
        if is_root {
            // Icons that were written to stand in a page leave it out; alone it makes the picture.
            tag.push_str(&format!(" xmlns=\"{NAMESPACE}\""));
        }
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix("/>") {
                self.rest = rest;
                tag.push_str("/>");
                break;
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                tag.push('>');
                self.open.push((name, is_kept));
                break;
            }
            self.attribute(&mut tag)?;
        }
        if is_kept {
            self.out.push_str(&tag);
        }
        Some(())
    }

    fn attribute(&mut self, tag: &mut String) -> Option<()> {
        let name = self.word()?;
        let rest = self.rest.trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        self.rest = rest;
        if ATTRIBUTES.contains(&name) && is_harmless(value) {
            tag.push_str(&format!(" {name}=\"{value}\""));
        }
        Some(())
    }
}

/// Numbers, colours and words; of addresses only those within the picture.
fn is_harmless(value: &str) -> bool {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || ".,#%()-+_".contains(c);
    let elsewhere = value.split("url(").skip(1).any(|rest| !rest.starts_with('#'));
    value.chars().all(fits) && !elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(svg: &str, want: Option<&str>) {
        assert_eq!(clean(svg).as_deref(), want, "{svg}");
    }

    const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">";

    #[test]
    fn shapes_stay_and_all_else_goes() {
        let circle = format!("{HEAD}<circle cx=\"8\" cy=\"8\" r=\"6\"/></svg>");
        check(&circle, Some(&circle));
        check(&format!("<?xml version='1.0'?><!-- > -->\n{circle}"), Some(&circle));
        for bad in [
            "<script>alert(1)</script>",
            "<script href='x'/>",
            "<foreignObject><body onload='x'/></foreignObject>",
            "<style>@import 'x'</style>",
            "<image href='https://evil.example/x'/>",
            "<use href='#x'/>",
            "<a href='javascript:x'><circle/></a>",
            "<![CDATA[<script>]]>",
            "<!-- <script> -->",
            "words",
        ] {
            let svg = circle.replace("</svg>", &format!("{bad}</svg>"));
            check(&svg, Some(&circle));
        }
        for bad in [
            "onload='x'",
            "style='a:b'",
            "href='x'",
            "xlink:href='x'",
            "fill='url(//e)'",
            "fill=\"a&quot;\"",
            "class='x'",
        ] {
            check(&circle.replace("<circle", &format!("<circle {bad}")), Some(&circle));
        }
        let inner = "fill=\"url(#a)\" width=\"16\"><svg/></svg>";
        let whole = format!("<svg xmlns=\"{NAMESPACE}\" {inner}");
        check(&whole.replace('"', "'").replace("<svg/>", "<svg xmlns='x'/>"), Some(&whole));
    }

    /// Without its namespace it is no picture, and within a page nobody needs to write it.
    #[test]
    fn the_picture_has_its_namespace_whatever_it_says() {
        let want = format!("{HEAD}<g/></svg>");
        let rest = "viewBox='0 0 16 16'><g/></svg>";
        for said in ["", "xmlns='x' ", "xmlns:xlink='y' "] {
            check(&format!("<svg {said}{rest}"), Some(&want));
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_icon() {
        let deep = format!("{}{}", "<svg>".repeat(40), "</svg>".repeat(40));
        let long = format!("<svg>{}</svg>", " ".repeat(ICON_BYTES_MAX));
        for svg in [
            "",
            "bell",
            "<b>x</b>",
            "<svg>",
            "<svg><g></svg>",
            "<svg",
            "<svg a>",
            "<svg a=b>",
            "<svg/><svg/>",
            "</svg>",
            "<svg></g>",
            "< svg/>",
            &deep,
            &long,
        ] {
            check(svg, None);
        }
    }
}
