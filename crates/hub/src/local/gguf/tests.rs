use super::*;

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn head(version: u32, tensors: u64, facts: &[(&str, u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(tensors.to_le_bytes());
    bytes.extend((facts.len() as u64).to_le_bytes());
    for (key, kind, value) in facts {
        bytes.extend(text(key));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value);
    }
    bytes
}

fn tensor(values: u64, kind: u32, begin: u64) -> Vec<u8> {
    let mut bytes = text("output.weight");
    bytes.extend(2u32.to_le_bytes());
    bytes.extend(4u64.to_le_bytes());
    bytes.extend((values / 4).to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(begin.to_le_bytes());
    bytes
}

/// A list of strings with one list of numbers in it.
fn words() -> Vec<u8> {
    let numbers = [&U32.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8]].concat();
    [&LIST.to_le_bytes()[..], &1u64.to_le_bytes(), &numbers].concat()
}

/// A small model with everything in it: 64 values of four bytes, aligned to 64.
fn whole() -> Vec<u8> {
    let facts = [
        ("general.architecture", STRING, text("llama")),
        ("general.name", STRING, text("Tiny")),
        ("general.alignment", U32, 64u32.to_le_bytes().to_vec()),
        ("llama.context_length", U32, 2048u32.to_le_bytes().to_vec()),
        ("some.numbers", LIST, words()),
        ("some.long", STRING, text(&"x".repeat(3_000))),
        ("llama.pooling_type", U32, 1u32.to_le_bytes().to_vec()),
        ("some.flag", 7, vec![1]),
    ];
    let mut bytes = [head(3, 2, &facts), tensor(64, 0, 0), tensor(64, 8, 256)].concat();
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes.extend([0; 256 + 2 * 34]);
    bytes
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let found = read(bytes, bytes.len() as u64).expect_err("it is broken");
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_whole_file_tells_its_facts() {
    let bytes = whole();
    let (name, pooling) = (Some("Tiny".into()), Some(1));
    let facts = Facts { name, context: Some(2048), pooling, ..Facts::default() };
    assert_eq!(read(&bytes[..], bytes.len() as u64), Ok(facts));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = whole();
    for size in 0..bytes.len() {
        let expected = if size < 4 { "is not a GGUF file" } else { "is incomplete" };
        check(&bytes[..size], expected);
    }
}

#[test]
fn what_is_not_a_model_is_refused() {
    check(b"", "is not a GGUF file");
    check(b"PK\x03\x04 and so on", "is not a GGUF file");
    check(&head(1, 0, &[]), "version 1");
    check(&head(0x0300_0000, 0, &[]), "version 50331648");
    check(&head(3, u64::MAX, &[]), "tensors");
    check(&[MAGIC, &3u32.to_le_bytes()[..], &[0; 8], &[0xff; 8]].concat(), "facts");
    check(&head(3, 0, &[("odd", 99, vec![])]), "type 99");
    let alignment = 3u32.to_le_bytes().to_vec();
    check(&head(3, 0, &[("general.alignment", U32, alignment)]), "aligned to 3");
    // A list that claims more than there is, and lists in lists in lists.
    let claimed = [&U32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
    check(&head(3, 0, &[("a", LIST, claimed)]), "is incomplete");
    let deep = [&LIST.to_le_bytes()[..], &1u64.to_le_bytes()].concat().repeat(9);
    check(&head(3, 0, &[("a", LIST, deep)]), "type 9");
    check(&[head(3, 1, &[]), tensor(u64::MAX, 0, 0)].concat(), "no possible size");
    check(&[head(3, 1, &[]), tensor(4, 0, u64::MAX - 64)].concat(), "need far more");
}

#[test]
fn the_memory_of_a_conversation_is_told_by_the_head() {
    let numbers = |list: &[(&'static str, u32)]| {
        let facts: Vec<_> =
            list.iter().map(|(key, number)| (*key, U32, number.to_le_bytes().to_vec())).collect();
        let mut bytes = head(3, 0, &facts);
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        read(&bytes[..], bytes.len() as u64).unwrap().shape.cache_bytes(8_192)
    };
    // Llama 3.2 with 3 billion parameters, and Gemma 2 with 2.
    let llama = [
        ("llama.block_count", 28),
        ("llama.embedding_length", 3_072),
        ("llama.attention.head_count", 24),
        ("llama.attention.head_count_kv", 8),
    ];
    assert_eq!(numbers(&llama), Some(896 << 20));
    let gemma = [
        ("gemma2.block_count", 26),
        ("gemma2.attention.head_count_kv", 4),
        ("gemma2.attention.key_length", 256),
        ("gemma2.attention.value_length", 256),
    ];
    assert_eq!(numbers(&gemma), Some(832 << 20));
    assert_eq!(numbers(&llama[..3]), None);
    let absurd = llama.map(|(key, _)| (key, u32::MAX));
    assert_eq!(numbers(&absurd), None);
}
