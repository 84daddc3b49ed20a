//! msgpack, token by token. Every form is understood, minimal or not; what we write is minimal.

use std::fmt;

use crate::limits::DEPTH_MAX;

/// Bytes that are no msgpack, or more than we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

pub(crate) const TOO_DEEP: Malformed = Malformed("msgpack nested too deep");
const TOO_SHORT: Malformed = Malformed("msgpack that breaks off");
const NO_MARKER: Malformed = Malformed("0xc1 begins no msgpack value");
pub(crate) const NO_TEXT: Malformed = Malformed("a key of a map is no text");

/// A value, or how a list or a map begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Nil,
    Bool(bool),
    /// A whole number, from the least `i64` to the greatest `u64`.
    Int(i128),
    F32(f32),
    F64(f64),
    /// Text, if it is UTF-8.
    Str(&'a [u8]),
    Bin(&'a [u8]),
    Array(usize),
    Map(usize),
    Ext(i8, &'a [u8]),
}

/// Reads from the front.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next token. A list or map cannot have more items than there are bytes left, so nobody
    /// makes room for what a length only claims. Inlined, since most callers want one kind only.
    #[inline(always)]
    pub(crate) fn token(&mut self) -> Result<Token<'a>, Malformed> {
        let marker = self.take(1)?[0];
        Ok(match marker {
            0x00..=0x7f => Token::Int(marker.into()),
            0x80..=0x8f => self.map(usize::from(marker & 0x0f))?,
            0x90..=0x9f => self.array(usize::from(marker & 0x0f))?,
            0xa0..=0xbf => Token::Str(self.take(usize::from(marker & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err(NO_MARKER),
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4..=0xc6 => Token::Bin(self.counted(marker - 0xc4)?),
            0xc7..=0xc9 => {
                let bytes = self.length(marker - 0xc7)?;
                self.ext(bytes)?
            }
            0xca => Token::F32(f32::from_be_bytes(self.array_of()?)),
            0xcb => Token::F64(f64::from_be_bytes(self.array_of()?)),
            0xcc => Token::Int(u8::from_be_bytes(self.array_of()?).into()),
            0xcd => Token::Int(u16::from_be_bytes(self.array_of()?).into()),
            0xce => Token::Int(u32::from_be_bytes(self.array_of()?).into()),
            0xcf => Token::Int(u64::from_be_bytes(self.array_of()?).into()),
            0xd0 => Token::Int(i8::from_be_bytes(self.array_of()?).into()),
            0xd1 => Token::Int(i16::from_be_bytes(self.array_of()?).into()),
            0xd2 => Token::Int(i32::from_be_bytes(self.array_of()?).into()),
            0xd3 => Token::Int(i64::from_be_bytes(self.array_of()?).into()),
            0xd4..=0xd8 => self.ext(1 << (marker - 0xd4))?,
            0xd9..=0xdb => Token::Str(self.counted(marker - 0xd9)?),
            0xdc..=0xdd => {
                let items = self.length(marker - 0xdc + 1)?;
                self.array(items)?
            }
            0xde..=0xdf => {
                let pairs = self.length(marker - 0xde + 1)?;
                self.map(pairs)?
            }
            0xe0..=0xff => Token::Int((marker as i8).into()),
        })
    }

    /// Passes over one value and gives its bytes as they are.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Malformed> {
        let before = self.rest;
        match before {
            // Short texts are what most fields are.
            [marker @ 0xa0..=0xbf, ..] => drop(self.take(1 + usize::from(marker & 0x1f))?),
            _ => self.skip_any(DEPTH_MAX)?,
        }
        Ok(&before[..before.len() - self.rest.len()])
    }

    fn skip_any(&mut self, levels: usize) -> Result<(), Malformed> {
        let token = self.token()?;
        self.pass(token, levels)
    }

    /// Passes over a key of a map, and gives its text if it is one.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if let [marker @ 0xa0..=0xbf, rest @ ..] = self.rest {
            self.rest = rest;
            return self.take(usize::from(marker & 0x1f)).map(Some);
        }
        self.any_key()
    }

    fn any_key(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.token()? {
            Token::Str(text) => Ok(Some(text)),
            other => self.pass(other, DEPTH_MAX).map(|()| None),
        }
    }

    /// Passes over what is inside of a value, with so many levels at most.
    #[inline]
    fn pass(&mut self, token: Token<'a>, levels: usize) -> Result<(), Malformed> {
        match token {
            Token::Array(items) if items > 0 => self.pass_inside(items, levels),
            Token::Map(pairs) if pairs > 0 => self.pass_inside(2 * pairs, levels),
            _ => Ok(()),
        }
    }

    fn pass_inside(&mut self, values: usize, levels: usize) -> Result<(), Malformed> {
        let levels = levels.checked_sub(1).ok_or(TOO_DEEP)?;
        (0..values).try_for_each(|_| self.skip_any(levels))
    }

    fn check(&mut self, levels: usize) -> Result<(), Malformed> {
        match self.token()? {
            Token::Array(items) => {
                let levels = levels.checked_sub(1).ok_or(TOO_DEEP)?;
                (0..items).try_for_each(|_| self.check(levels))
            }
            Token::Map(pairs) => {
                let levels = levels.checked_sub(1).ok_or(TOO_DEEP)?;
                (0..pairs).try_for_each(|_| match self.token()? {
                    Token::Str(_) => self.check(levels),
                    _ => Err(NO_TEXT),
                })
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array_of<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(TOO_SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A length of 1, 2 or 4 bytes, for class 0, 1 or 2.
    fn length(&mut self, class: u8) -> Result<usize, Malformed> {
        let bytes = self.take(1 << class)?;
        Ok(bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    fn counted(&mut self, class: u8) -> Result<&'a [u8], Malformed> {
        let bytes = self.length(class)?;
        self.take(bytes)
    }

    fn ext(&mut self, bytes: usize) -> Result<Token<'a>, Malformed> {
        let [kind] = self.array_of()?;
        Ok(Token::Ext(kind as i8, self.take(bytes)?))
    }

    fn array(&self, items: usize) -> Result<Token<'a>, Malformed> {
        if items > self.rest.len() { Err(TOO_SHORT) } else { Ok(Token::Array(items)) }
    }

    fn map(&self, pairs: usize) -> Result<Token<'a>, Malformed> {
        if pairs > self.rest.len() / 2 { Err(TOO_SHORT) } else { Ok(Token::Map(pairs)) }
    }
}

/// Whether bytes are one value that every library reads: whole, with so many levels at most, and
/// with texts for keys. Others are dropped without a word by some.
pub(crate) fn check(packed: &[u8], levels: usize) -> Result<(), Malformed> {
    let mut reader = Reader::new(packed);
    reader.check(levels)?;
    if reader.is_empty() { Ok(()) } else { Err(Malformed("bytes after the value")) }
}

/// The text of a packed value, if it is one.
pub(crate) fn text(packed: &[u8]) -> Option<&str> {
    std::str::from_utf8(text_bytes(packed)?).ok()
}

/// The same as it came: enough to compare it.
pub(crate) fn text_bytes(packed: &[u8]) -> Option<&[u8]> {
    match Reader::new(packed).token().ok()? {
        Token::Str(bytes) => Some(bytes),
        _ => None,
    }
}

pub(crate) const NIL: u8 = 0xc0;
pub(crate) const TRUE: u8 = 0xc3;
pub(crate) const EMPTY_ARRAY: u8 = 0x90;

#[inline]
pub(crate) fn put_str(out: &mut Vec<u8>, text: &str) {
    match text.len() {
        bytes @ 0..=31 => out.push(0xa0 | bytes as u8),
        // Ids have it.
        bytes @ 32..=255 => out.extend_from_slice(&[0xd9, bytes as u8]),
        bytes => put_length(out, bytes, [Some(0xd9), Some(0xda), Some(0xdb)]),
    }
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn put_bin(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len(), [Some(0xc4), Some(0xc5), Some(0xc6)]);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_ext(out: &mut Vec<u8>, kind: i8, bytes: &[u8]) {
    match [1, 2, 4, 8, 16].iter().position(|fixed| *fixed == bytes.len()) {
        Some(class) => out.push(0xd4 + class as u8),
        None => put_length(out, bytes.len(), [Some(0xc7), Some(0xc8), Some(0xc9)]),
    }
    out.push(kind as u8);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_array(out: &mut Vec<u8>, items: usize) {
    match items {
        0..=15 => out.push(EMPTY_ARRAY | items as u8),
        _ => put_length(out, items, [None, Some(0xdc), Some(0xdd)]),
    }
}

pub(crate) fn put_map(out: &mut Vec<u8>, pairs: usize) {
    match pairs {
        0..=15 => out.push(0x80 | pairs as u8),
        _ => put_length(out, pairs, [None, Some(0xde), Some(0xdf)]),
    }
}

pub(crate) fn put_f64(out: &mut Vec<u8>, number: f64) {
    out.push(0xcb);
    out.extend_from_slice(&number.to_be_bytes());
}

pub(crate) fn put_f32(out: &mut Vec<u8>, number: f32) {
    out.push(0xca);
    out.extend_from_slice(&number.to_be_bytes());
}

pub(crate) fn put_bool(out: &mut Vec<u8>, yes: bool) {
    out.push(0xc2 | u8::from(yes));
}

/// Forms without a sign are for what has no other: children in Go end at those.
pub(crate) fn put_u64(out: &mut Vec<u8>, number: u64) {
    match i64::try_from(number) {
        Ok(number) => put_i64(out, number),
        Err(_) => put(out, 0xcf, &number.to_be_bytes()),
    }
}

pub(crate) fn put_i64(out: &mut Vec<u8>, number: i64) {
    let bytes = number.to_be_bytes();
    match number {
        -32..=0x7f => out.push(number as u8),
        -0x80..=-33 => put(out, 0xd0, &bytes[7..]),
        -0x8000..=0x7fff => put(out, 0xd1, &bytes[6..]),
        -0x8000_0000..=0x7fff_ffff => put(out, 0xd2, &bytes[4..]),
        _ => put(out, 0xd3, &bytes),
    }
}

fn put(out: &mut Vec<u8>, marker: u8, bytes: &[u8]) {
    out.push(marker);
    out.extend_from_slice(bytes);
}

/// The shortest of the forms with 1, 2 and 4 bytes of length that there are.
fn put_length(out: &mut Vec<u8>, length: usize, markers: [Option<u8>; 3]) {
    let bytes = u32::try_from(length).expect("no message has 4 GiB").to_be_bytes();
    let needed = if length < 1 << 8 {
        0
    } else if length < 1 << 16 {
        1
    } else {
        2
    };
    let fits =
        markers.iter().enumerate().skip(needed).find_map(|(class, it)| Some((class, (*it)?)));
    let (class, marker) = fits.expect("every kind has a form with four bytes of length");
    put(out, marker, &bytes[4 - (1 << class)..]);
}
