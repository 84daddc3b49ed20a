//! A text as it looks: letters of other alphabets, styles and widths as the plain ones that they
//! pass for, hyphens and blanks of every kind as one, and nothing that cannot be seen.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// A text that was folded, and where each of its bytes comes from.
pub(super) struct Folded<'a> {
    pub text: Cow<'a, str>,
    /// For every byte the place in the original; none where nothing was changed.
    places: Option<Vec<usize>>,
    original_bytes: usize,
}

impl Folded<'_> {
    /// The place in the original of what stands here.
    pub fn original(&self, place: Range<usize>) -> Range<usize> {
        let at = |byte: usize| match &self.places {
            None => byte,
            Some(places) => places.get(byte).copied().unwrap_or(self.original_bytes),
        };
        at(place.start)..at(place.end)
    }
}

/// Folds `text`, and keeps large letters.
pub(super) fn fold(text: &str) -> Folded<'_> {
    let original_bytes = text.len();
    if text.is_ascii() {
        return Folded { text: Cow::Borrowed(text), places: None, original_bytes };
    }
    let (mut folded, mut places) = (String::with_capacity(text.len()), Vec::new());
    for (at, c) in text.char_indices() {
        if let Some(plain) = fold_char(c) {
            folded.push(plain);
            places.extend(std::iter::repeat_n(at, plain.len_utf8()));
        }
    }
    Folded { text: Cow::Owned(folded), places: Some(places), original_bytes }
}

/// Folds `text` and makes its letters small, as far as these take the same room.
pub(super) fn fold_small(text: &str) -> Folded<'_> {
    let folded = fold(text);
    Folded { text: Cow::Owned(folded.text.chars().map(small).collect()), ..folded }
}

fn small(c: char) -> char {
    let mut lower = c.to_lowercase();
    let alone = lower.next().filter(|it| lower.len() == 0 && it.len_utf8() == c.len_utf8());
    alone.unwrap_or(c)
}

/// The plain letter that `c` looks like; none where it cannot be seen.
fn fold_char(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    let code = u32::from(c);
    Some(match code {
        // Marks above and below letters, joiners, directions, variants, tags.
        0xad
        | 0x300..=0x36f
        | 0x61c
        | 0x180e
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x206f
        | 0xfe00..=0xfe0f
        | 0xfeff
        | 0xe0000..=0xe01ef => return None,
        0xa0 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 => ' ',
        0x2010..=0x2015 | 0x2043 | 0x2212 | 0xfe58 | 0xfe63 => '-',
        0x2024 => '.',
        // Full width.
        0xff01..=0xff5e => ascii(code - 0xff01 + 0x21),
        // Mathematical letters in thirteen styles, and digits in five.
        0x1d400..=0x1d6a3 => letter((code - 0x1d400) % 52),
        0x1d7ce..=0x1d7ff => ascii((code - 0x1d7ce) % 10 + u32::from(b'0')),
        // Roman numerals of one letter.
        0x2160 | 0x2170 => roman(code, 'I'),
        0x2164 | 0x2174 => roman(code, 'V'),
        0x2169 | 0x2179 => roman(code, 'X'),
        0x216c | 0x217c => roman(code, 'L'),
        0x216d | 0x217d => roman(code, 'C'),
        0x216e | 0x217e => roman(code, 'D'),
        0x216f | 0x217f => roman(code, 'M'),
        // In circles, squares and brackets.
        0x24b6..=0x24e9 => letter(code - 0x24b6),
        0x249c..=0x24b5 => letter(code - 0x249c + 26),
        0x1f130..=0x1f149 => letter(code - 0x1f130),
        0x1f150..=0x1f169 => letter(code - 0x1f150),
        0x1f170..=0x1f189 => letter(code - 0x1f170),
        0x1f1e6..=0x1f1ff => letter(code - 0x1f1e6),
        _ => PLAIN.get(&c).copied().unwrap_or(c),
    })
}

/// What each of the look-alikes passes for.
static PLAIN: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let each = |(all, plain): &(&'static str, char)| {
        let plain = *plain;
        all.chars().map(move |c| (c, plain))
    };
    LOOKALIKES.iter().flat_map(each).collect()
});

fn ascii(code: u32) -> char {
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The small ones stand sixteen places behind the large ones.
fn roman(code: u32, large: char) -> char {
    if code < 0x2170 { large } else { large.to_ascii_lowercase() }
}

/// The large letters, then the small ones.
fn letter(number: u32) -> char {
    let base = if number < 26 { u32::from(b'A') } else { u32::from(b'a') - 26 };
    ascii(base + number)
}

/// Letters of other alphabets, with marks or in old styles, and what each passes for.
const LOOKALIKES: &[(&str, char)] = &[
    ("ÀÁÂÃÄÅĀĂĄǍАΑᎪᗅꓮ", 'A'),
    ("ВΒᏴℬꓐ", 'B'),
    ("ÇĆĈĊČСϹᏟℂℭꓚ", 'C'),
    ("ĎĐᎠⅅꓓ", 'D'),
    ("ÈÉÊËĒĔĖĘĚЕЁΕᎬℰꓰ", 'E'),
    ("ℱꓝ", 'F'),
    ("ĜĞĠĢᏀԌꓖ", 'G'),
    ("ĤĦНΗᎻℋℌℍꓧ", 'H'),
    ("ÌÍÎÏĨĪĬĮİІΙӀℐℑꓲ", 'I'),
    ("ĴЈᎫꓙ", 'J'),
    ("ĶКΚᏦKꓗ", 'K'),
    ("ĹĻĽĿŁᏞℒꓡ", 'L'),
    ("МΜᎷℳꓟ", 'M'),
    ("ÑŃŅŇΝℕꓠ", 'N'),
    ("ÒÓÔÕÖØŌŎŐОΟՕꓳ", 'O'),
    ("РΡᏢℙꓑ", 'P'),
    ("ℚԚ", 'Q'),
    ("ŔŖŘᎡℛℜℝꓣ", 'R'),
    ("ŚŜŞŠЅՏᏚꓢ", 'S'),
    ("ŢŤŦТΤᎢꓔ", 'T'),
    ("ÙÚÛÜŨŪŬŮŰŲՍꓴ", 'U'),
    ("ѴᏙꓦ", 'V'),
    ("ŴᎳԜꓪ", 'W'),
    ("ХΧꓫ", 'X'),
    ("ÝŶŸΥҮУꓬ", 'Y'),
    ("ŹŻŽΖᏃℤℨꓜ", 'Z'),
    ("àáâãäåāăąǎаαɑᴀ", 'a'),
    ("ʙЬ", 'b'),
    ("çćĉċčсϲᴄ", 'c'),
    ("ďđԁᴅⅆ", 'd'),
    ("èéêëēĕėęěеёєεᴇℯⅇ", 'e'),
    ("ꜰ", 'f'),
    ("ĝğġģɡցɢℊ", 'g'),
    ("ĥħһհʜℎн", 'h'),
    ("ìíîïĩīĭįıіιɪⅈℹ", 'i'),
    ("ĵјϳᴊⅉ", 'j'),
    ("ķкκᴋ", 'k'),
    ("ĺļľŀłӏʟℓ", 'l'),
    ("мᴍ", 'm'),
    ("ñńņňոɴ", 'n'),
    ("òóôõöøōŏőоοօᴏℴ", 'o'),
    ("рρᴘ", 'p'),
    ("ԛգ", 'q'),
    ("ŕŗřʀ", 'r'),
    ("śŝşšѕꜱ", 's'),
    ("ţťŧтτᴛ", 't'),
    ("ùúûüũūŭůűųսᴜ", 'u'),
    ("νѵᴠ", 'v'),
    ("ŵԝᴡ", 'w'),
    ("хχ", 'x'),
    ("ýŷÿуүʏ", 'y'),
    ("źżžᴢ", 'z'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(fold(text).text, want, "{text}");
    }

    #[test]
    fn what_looks_alike_is_alike() {
        for text in [
            "Сlаudе",
            "Ｃｌａｕｄｅ",
            "𝐂𝐥𝐚𝐮𝐝𝐞",
            "𝒞𝓁𝒶𝓊𝒹ℯ",
            "𝕮𝖑𝖆𝖚𝖉𝖊",
            "Ⓒⓛⓐⓤⓓⓔ",
            "Cláüdé",
            "Cl\u{200b}au\u{ad}de",
            "C\u{301}laude",
            "Ⅽⅼauⅾe",
        ] {
            check(text, "Claude");
        }
        check("🅲🅻🅰🆄🅳🅴 🇬🇵🇹", "CLAUDE GPT");
        check("gpt\u{2011}5\u{a0}mini \u{1d7d3}", "gpt-5 mini 5");
        check("東京 and plain", "東京 and plain");
    }

    #[test]
    fn a_place_leads_back_to_what_stood_there() {
        let text = "by Ｃl\u{200b}аudе, ok";
        let folded = fold(text);
        let at = folded.text.find("Claude").unwrap();
        let place = folded.original(at..at + "Claude".len());
        assert_eq!(&text[place], "Ｃl\u{200b}аudе");
        let end = folded.text.len();
        assert_eq!(folded.original(end..end), text.len()..text.len());
        assert_eq!(fold_small("ÉLAN ΣΟ").text, fold_small("élan σο").text);
    }
}
