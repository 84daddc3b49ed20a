//! What a GGUF file says of itself, and whether it is all there. Pure: bytes in, facts out. A
//! download that broke off and a file of another kind are told at once, without starting anything.

use std::io::Read;

const MAGIC: &[u8; 4] = b"GGUF";
/// The versions that llama.cpp reads; the first one counted in other sizes.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;
/// More facts or tensors than any model has; a file that claims more is broken.
const FACTS_MAX: u64 = 1 << 16;
const TENSORS_MAX: u64 = 1 << 20;
const DIMENSIONS_MAX: u32 = 8;
/// Lists in lists are not nested deeper.
const NESTING_MAX: u32 = 4;
/// A longer name is not taken.
const NAME_BYTES_MAX: u64 = 1_024;
/// Where tensors begin, unless the file says otherwise: at multiples of so many bytes.
const ALIGNMENT: u64 = 32;
const ALIGNMENT_MAX: u64 = 1 << 20;

/// Types of facts by number, with their sizes; strings and lists are read on their own.
const SIZES: &[(u32, u64)] =
    &[(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8)];
const U32: u32 = 4;
const STRING: u32 = 8;
const LIST: u32 = 9;

/// Types of tensors by number: how many values make a block, and its bytes. Of others only the
/// beginning is checked.
#[rustfmt::skip]
const BLOCKS: &[(u32, u64, u64)] = &[
    (0, 1, 4), (1, 1, 2), (30, 1, 2), (24, 1, 1), (25, 1, 2), (26, 1, 4), (27, 1, 8), (28, 1, 8),
    (2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (8, 32, 34), (39, 32, 17),
    (10, 256, 84), (11, 256, 110), (12, 256, 144), (13, 256, 176), (14, 256, 210), (15, 256, 292),
];

/// What is worth knowing of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub name: Option<String>,
    /// Tokens it was trained on.
    pub context: Option<u32>,
    pub shape: Shape,
    /// How the vectors of its tokens become that of a text, as llama.cpp numbers it.
    pub pooling: Option<u32>,
}

/// What decides how much memory a conversation takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shape {
    layers: Option<u32>,
    heads: Option<u32>,
    /// Heads that are kept of each token; a list in models whose layers differ, and then unknown.
    kept_heads: Option<u32>,
    width: Option<u32>,
    key_width: Option<u32>,
    value_width: Option<u32>,
}

impl Shape {
    /// The field of a fact, called without the kind of model before it.
    fn field(&mut self, name: &str) -> Option<&mut Option<u32>> {
        match name {
            "block_count" => Some(&mut self.layers),
            "embedding_length" => Some(&mut self.width),
            "attention.head_count" => Some(&mut self.heads),
            "attention.head_count_kv" => Some(&mut self.kept_heads),
            "attention.key_length" => Some(&mut self.key_width),
            "attention.value_length" => Some(&mut self.value_width),
            _ => None,
        }
    }

    /// Returns the bytes of a conversation of so many tokens, in numbers of two bytes.
    pub fn cache_bytes(&self, tokens: u32) -> Option<u64> {
        let wide = |own: Option<u32>| own.or_else(|| self.width?.checked_div(self.heads?));
        let (key, value) = (wide(self.key_width)?, wide(self.value_width)?);
        let numbers = u64::from(key) + u64::from(value);
        let counts = [self.layers?, self.kept_heads?, 2, tokens];
        counts.into_iter().try_fold(numbers, |product, count| product.checked_mul(count.into()))
    }
}

/// Reads the head of a file of `size` bytes. The error completes a sentence about the file.
pub(super) fn read(from: impl Read, size: u64) -> Result<Facts, String> {
    let mut source = Source { from, at: 0, size };
    if source.bytes::<4>().ok().as_ref() != Some(MAGIC) {
        return Err("is not a GGUF file".into());
    }
    let version = source.u32()?;
    if !VERSIONS.contains(&version) {
        let (first, last) = (VERSIONS.start(), VERSIONS.end());
        return Err(format!("is GGUF of version {version}, and {first} to {last} can be read"));
    }
    let tensors = counted("tensors", source.u64()?, TENSORS_MAX)?;
    let facts = counted("facts", source.u64()?, FACTS_MAX)?;
    let (facts, alignment) = source.facts(facts)?;
    source.tensors(tensors, alignment)?;
    Ok(facts)
}

fn counted(what: &str, count: u64, most: u64) -> Result<u64, String> {
    match count <= most {
        true => Ok(count),
        false => Err(format!("is broken: it claims {count} {what}")),
    }
}

struct Source<R> {
    from: R,
    at: u64,
    size: u64,
}

impl<R: Read> Source<R> {
    fn facts(&mut self, count: u64) -> Result<(Facts, u64), String> {
        let (mut facts, mut alignment) = (Facts::default(), ALIGNMENT);
        for _ in 0..count {
            let key = self.string()?;
            let kind = self.u32()?;
            match (key.as_str(), kind) {
                ("general.name", STRING) => facts.name = Some(self.string()?),
                ("general.alignment", U32) => alignment = u64::from(self.u32()?),
                (key, U32) if key.ends_with(".context_length") => facts.context = Some(self.u32()?),
                (key, U32) if key.ends_with(".pooling_type") => facts.pooling = Some(self.u32()?),
                (key, U32) => {
                    let number = self.u32()?;
                    let name = key.split_once('.').map_or("", |(_, name)| name);
                    if let Some(field) = facts.shape.field(name) {
                        *field = Some(number);
                    }
                }
                _ => self.skip_value(kind, 0)?,
            }
        }
        let fits = alignment.is_power_of_two() && alignment <= ALIGNMENT_MAX;
        match fits {
            true => Ok((facts, alignment)),
            false => Err(format!("is broken: its tensors are aligned to {alignment} bytes")),
        }
    }

    /// Every tensor lies within the file.
    fn tensors(&mut self, count: u64, alignment: u64) -> Result<(), String> {
        let mut end = 0;
        for _ in 0..count {
            end = end.max(self.tensor_end()?);
        }
        let needed = self.at.next_multiple_of(alignment).checked_add(end);
        match needed.filter(|needed| *needed <= self.size) {
            Some(_) => Ok(()),
            None => {
                let needed = needed.map_or("far more".into(), |needed| needed.to_string());
                let has = self.size;
                Err(format!("is incomplete: it has {has} bytes, and its tensors need {needed}"))
            }
        }
    }

    /// Where a tensor ends, counted from where the first one begins.
    fn tensor_end(&mut self) -> Result<u64, String> {
        let name = self.string()?;
        let broken = || format!("is broken: tensor {name:?} has no possible size");
        let dimensions = self.u32()?;
        if dimensions > DIMENSIONS_MAX {
            return Err(broken());
        }
        let mut values = 1u64;
        for _ in 0..dimensions {
            values = values.checked_mul(self.u64()?).ok_or_else(broken)?;
        }
        let (kind, begin) = (self.u32()?, self.u64()?);
        let block = BLOCKS.iter().find(|(number, ..)| *number == kind);
        let bytes =
            block.map_or(Some(0), |(_, of, bytes)| values.div_ceil(*of).checked_mul(*bytes));
        bytes.and_then(|bytes| bytes.checked_add(begin)).ok_or_else(broken)
    }

    fn skip_value(&mut self, kind: u32, nesting: u32) -> Result<(), String> {
        if let Some((_, size)) = SIZES.iter().find(|(number, _)| *number == kind) {
            return self.skip(*size);
        }
        match kind {
            STRING => {
                let size = self.u64()?;
                self.skip(size)
            }
            LIST if nesting < NESTING_MAX => {
                let (kind, count) = (self.u32()?, self.u64()?);
                if let Some((_, size)) = SIZES.iter().find(|(number, _)| *number == kind) {
                    return self.skip(size.checked_mul(count).ok_or_else(cut_short)?);
                }
                // Each of them takes bytes, so this ends with the file.
                (0..count).try_for_each(|_| self.skip_value(kind, nesting + 1))
            }
            _ => Err(format!("is broken: nothing is of type {kind}")),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), String> {
        self.advance(bytes)?;
        let skipped = std::io::copy(&mut self.from.by_ref().take(bytes), &mut std::io::sink());
        match skipped.map_err(|error| format!("cannot be read: {error}"))? == bytes {
            true => Ok(()),
            false => Err(cut_short()),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let size = self.u64()?;
        if size > NAME_BYTES_MAX {
            return self.skip(size).map(|()| String::new());
        }
        self.advance(size)?;
        let mut bytes = vec![0; size as usize];
        self.fill(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        self.advance(N as u64)?;
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => cut_short(),
            _ => format!("cannot be read: {error}"),
        })
    }

    /// Nothing is reserved or read for a size that the file does not have.
    fn advance(&mut self, bytes: u64) -> Result<(), String> {
        let at = self.at.checked_add(bytes).filter(|at| *at <= self.size);
        self.at = at.ok_or_else(cut_short)?;
        Ok(())
    }
}

fn cut_short() -> String {
    "is incomplete: it ends in the middle of its head".into()
}

#[cfg(test)]
mod tests;
