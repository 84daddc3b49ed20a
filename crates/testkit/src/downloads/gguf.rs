//! The smallest GGUF file that is whole. No model is in it: it can be added and not asked.

const STRING: u32 = 8;
const U32: u32 = 4;

/// Returns a GGUF file called `name` whose one tensor has `values` numbers of four bytes. The numbers
/// differ, so that bytes in the wrong place are noticed.
pub fn tiny_gguf(name: &str, values: u64) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(3u64.to_le_bytes());
    for (key, value) in [("general.architecture", "llama"), ("general.name", name)] {
        text(&mut bytes, key);
        bytes.extend(STRING.to_le_bytes());
        text(&mut bytes, value);
    }
    text(&mut bytes, "llama.context_length");
    bytes.extend(U32.to_le_bytes());
    bytes.extend(2048u32.to_le_bytes());
    text(&mut bytes, "output.weight");
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(values.to_le_bytes());
    // Numbers of four bytes, from the beginning on.
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    (0..values as u32).for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
