//! How many tokens a model takes, read from the sentence with which a server refuses a prompt that
//! is too long. Pure: text in, a number out.

/// What stands right before the limit in such a sentence, in lower case. The first that is found
/// with a number behind it counts, so the more telling ones come first.
const BEFORE_LIMIT: &[&str] = &[
    // Anthropic: "prompt is too long: 208310 tokens > 200000 maximum", and with `max_tokens`
    // "exceed context limit: 188240 + 21333 > 200000".
    " > ",
    // OpenAI, vLLM, DeepSeek, OpenRouter: "maximum context length is 128000 tokens".
    "maximum context length is ",
    // vLLM: "the model's context length is only 4096 tokens", "maximum model length of 4096".
    "context length is only ",
    "maximum model length of ",
    // xAI: "maximum prompt length is 131072 but the request contains 500000 tokens".
    "maximum prompt length is ",
    // Gemini: "exceeds the maximum number of tokens allowed (1048576)".
    "maximum number of tokens allowed ",
    // llama-server: "request (5000 tokens) exceeds the available context size (4096 tokens)".
    "available context size ",
    // LM Studio: "the model is loaded with context length of only 4096 tokens".
    "context length of only ",
    "context length of ",
    // Mistral: "too large for model with 32768 maximum context length".
    "too large for model with ",
    // Copilot: "prompt token count of 70000 exceeds the limit of 64000".
    "exceeds the limit of ",
    // Moonshot: "exceeded model token limit: 8192".
    "model token limit: ",
    // Together: "`inputs` tokens + `max_new_tokens` must be <= 8193".
    "must be <= ",
    // llama-cpp-python: "exceed context window of 2048".
    "context window of ",
    // DashScope: "Range of input length should be [1, 30720]".
    "input length should be [1, ",
    // Groq: "on tokens per minute (TPM): Limit 6000, Requested 7000". A longer prompt never passes.
    "(tpm): limit ",
];
/// Sizes that a window can have; another number is about something else.
const SIZES: std::ops::RangeInclusive<u64> = 128..=100_000_000;

/// Reads the limit from a refusal in lower case; none where it names no number.
pub(super) fn read_limit(message: &str) -> Option<u64> {
    BEFORE_LIMIT.iter().find_map(|before| {
        let at = message.find(before)? + before.len();
        leading_number(&message[at..])
    })
}

/// Returns the number that `text` begins with, in brackets or not, with or without separators.
fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['(', '[']);
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ',' | '_');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let digits: String = text[..end].chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|tokens| SIZES.contains(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_sentences_of_servers() {
        #[rustfmt::skip]
        let table = [
            ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.", Some(128_000)),
            ("This model's maximum context length is 4,096 tokens, and you requested 5000.", Some(4_096)),
            ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", Some(4_096)),
            ("However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens.", Some(4_096)),
            ("prompt is too long: 208310 tokens > 200000 maximum", Some(200_000)),
            ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length", Some(200_000)),
            ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", Some(1_048_576)),
            ("The input token count exceeds the maximum number of tokens allowed 32768.", Some(32_768)),
            ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", Some(4_096)),
            ("Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", Some(4_096)),
            ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", Some(32_768)),
            ("This model's maximum prompt length is 131072 but the request contains 500000 tokens.", Some(131_072)),
            ("prompt token count of 70000 exceeds the limit of 64000", Some(64_000)),
            ("Invalid request: Your request exceeded model token limit: 8192", Some(8_192)),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            ("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000", Some(6_000)),
            ("Requested tokens (2285) exceed context window of 2048", Some(2_048)),
            ("the request exceeds the available context size. try increasing the context size", None),
            ("Please reduce the length of the messages or completion.", None),
            ("the input length exceeds the context length", None),
            ("a > b", None),
            ("prompt is too long: 3 tokens > 2 maximum", None),
            ("maximum context length is 99999999999999999999999999 tokens", None),
            ("", None),
        ];
        for (message, want) in table {
            assert_eq!(read_limit(&message.to_lowercase()), want, "{message}");
        }
    }
}
