//! How many tokens a model takes and how many a prompt had, read from the sentence with which a
//! server refuses a prompt that is too long. Pure: text in, a number out.

use serde_json::Value;

/// What stands right before the limit in such a sentence, in lower case. The first that is found
/// with a number behind it counts, so the more telling ones come first.
const BEFORE_LIMIT: &[&str] = &[
    // Anthropic: "prompt is too long: 208310 tokens > 200000 maximum", and with `max_tokens`
    // "exceed context limit: 188240 + 21333 > 200000".
    " > ",
    // OpenAI, vLLM, DeepSeek, OpenRouter: "maximum context length is 128000 tokens".
    "maximum context length is ",
    // OpenAI: "Input tokens exceed the configured limit of 272000 tokens".
    "configured limit of ",
    // vLLM: "the model's context length is only 4096 tokens", "maximum model length of 4096".
    "context length is only ",
    "maximum model length of ",
    // xAI: "maximum prompt length is 131072 but the request contains 500000 tokens".
    "maximum prompt length is ",
    // Gemini: "exceeds the maximum number of tokens allowed (1048576)".
    "maximum number of tokens allowed ",
    // Vertex: "the input token count is 1200000 but model only supports up to 1048576".
    "model only supports up to ",
    // llama-server: "request (5000 tokens) exceeds the available context size (4096 tokens)".
    "available context size ",
    "configured context size is ",
    // LM Studio: "the model is loaded with context length of only 4096 tokens", "n_keep (15028) >=
    // n_ctx (7424)", "(n_keep: 8485 >= n_ctx: 8192)".
    "context length of only ",
    "n_ctx: ",
    "n_ctx ",
    // LiteLLM: "exceeds the model's maximum context length of 131072 tokens".
    "context length of ",
    // SGLang, Together: "is longer than the model's context length (40960 tokens)"; vLLM: "too long
    // to fit into the model (context length 4096)".
    "context length (",
    "(context length ",
    // Fireworks: "The prompt is too long: 203557, model maximum context length: 196607".
    "maximum context length: ",
    // SGLang: "exceeds the maximum allowed length (59862 tokens)"; Poolside: "exceeds the maximum
    // allowed input length of 32768 tokens".
    "maximum allowed length ",
    "maximum allowed input length of ",
    // Mistral: "too large for model with 32768 maximum context length".
    "too large for model with ",
    // Copilot: "prompt token count of 70000 exceeds the limit of 64000".
    "exceeds the limit of ",
    // Moonshot: "exceeded model token limit: 8192".
    "model token limit: ",
    // Text Generation Inference: "`inputs` tokens + `max_new_tokens` must be <= 8193", "`inputs`
    // must have less than 4095 tokens".
    "must be <= ",
    "must have less than ",
    // DeepInfra, TensorRT: "exceeds maximum input length 4096"; others: "maximum input length is".
    "maximum input length ",
    "maximum input length is ",
    // llama-cpp-python: "exceed context window of 2048".
    "context window of ",
    // Cloudflare: "exceeded this model context window limit (8192)".
    "context window limit ",
    // Cohere: "The limit for this model is 132000 tokens", "cannot exceed 4081 - received 4292".
    "limit for this model is ",
    "cannot exceed ",
    // Cerebras: "Current length is 9000 while limit is 8192".
    "while limit is ",
    // DashScope: "Range of input length should be [1, 30720]".
    "input length should be [1, ",
    // GitHub Models: "Request body too large for gpt-4o model. Max size: 8000 tokens".
    "max size: ",
    // Groq: "on tokens per minute (TPM): Limit 6000, Requested 7000". A longer prompt never passes.
    "(tpm): limit ",
];
/// What stands right before the length of the prompt, in the same way. What a server counts together
/// with the answer that was asked for is not there.
const BEFORE_PROMPT: &[&str] = &[
    // OpenAI: "your messages resulted in 130001 tokens".
    "messages resulted in ",
    // vLLM: "your request has 5000 input tokens", "You passed 5000 input tokens", "prompt (length
    // 5000)", "(total length 5000)". Where it says "at least", it has not counted to the end.
    "your request has ",
    "you passed ",
    "prompt (length ",
    "(total length ",
    // Mistral: "Prompt contains 40000 tokens and 0 draft tokens".
    "prompt contains ",
    // Anthropic, Fireworks: "prompt is too long: 208310".
    "prompt is too long: ",
    "exceed context limit: ",
    // Gemini and Vertex.
    "input token count (",
    "input token count is ",
    // xAI.
    "request contains ",
    // Copilot.
    "prompt token count of ",
    // Moonshot: "exceeded model token limit: 8192 (requested: 9000)".
    "(requested: ",
    // llama-server: "request (5000 tokens) exceeds", and "prompt has 5000 tokens, but".
    "request (",
    "prompt has ",
    // LM Studio keeps the whole prompt.
    "keep the first ",
    "n_keep: ",
    "n_keep ",
    // SGLang, Together, Poolside, DeepInfra: "The input (61709 tokens)", "Input length 160062".
    "the input (",
    "input length ",
    // Text Generation Inference: "Given: 5000".
    "given: ",
    // Cohere: "total number of tokens in the prompt cannot exceed 4081 - received 4292".
    " - received ",
    // llama-cpp-python: "Requested tokens (2285) exceed context window of 2048".
    "requested tokens (",
    // Cerebras.
    "current length is ",
];
/// What stands right behind the length of the prompt.
const BEHIND_PROMPT: &[&str] = &[
    // OpenAI, vLLM, DeepSeek: "you requested 5096 tokens (5000 in the messages, 96 in the
    // completion)", "(5000 in your prompt; 96 for the completion)".
    " in the messages",
    " in your prompt",
    // OpenRouter: "about 200000 tokens (199000 of text input, 1000 in the output)".
    " of text input",
    // LiteLLM: "a total of 256878 tokens: 31216 tokens from the input messages".
    " tokens from the input messages",
];
/// Lengths that a window or a prompt can have; another number is about something else.
const LENGTHS: std::ops::RangeInclusive<u64> = 128..=100_000_000;

/// Reads the limit from a refusal in lower case; none where it names no number.
pub(super) fn read_limit(message: &str) -> Option<u64> {
    number_behind(message, BEFORE_LIMIT)
}

/// Reads the length of the prompt from a refusal in lower case; none where it names none.
pub(super) fn read_prompt(message: &str) -> Option<u64> {
    number_behind(message, BEFORE_PROMPT).or_else(|| number_before(message, BEHIND_PROMPT))
}

/// Reads a length from a field of its own.
pub(super) fn read_length(field: &Value) -> Option<u64> {
    field.as_u64().filter(|tokens| LENGTHS.contains(tokens))
}

fn number_behind(message: &str, words: &[&str]) -> Option<u64> {
    words.iter().find_map(|before| {
        let at = message.find(before)? + before.len();
        leading_number(&message[at..])
    })
}

fn number_before(message: &str, words: &[&str]) -> Option<u64> {
    words.iter().find_map(|behind| {
        let text = &message[..message.find(behind)?];
        let start = text.trim_end_matches(is_digit).len();
        parse_length(&text[start..])
    })
}

/// Returns the number that `text` begins with, in brackets or not.
fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['(', '[']);
    let rest = text.trim_start_matches(is_digit);
    parse_length(&text[..text.len() - rest.len()])
}

/// Tells whether `c` may be in a number, with its separators.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '_')
}

fn parse_length(number: &str) -> Option<u64> {
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|tokens| LENGTHS.contains(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_from_the_sentences_of_servers() {
        #[track_caller]
        fn check(message: &str, limit: Option<u64>, prompt: Option<u64>) {
            let message = message.to_lowercase();
            assert_eq!(read_limit(&message), limit, "{message}");
            assert_eq!(read_prompt(&message), prompt, "{message}");
        }
        #[rustfmt::skip]
        let table = [
            ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.", 128_000, 130_001),
            ("This model's maximum context length is 4,096 tokens. However, you requested 5096 tokens (5000 in the messages, 96 in the completion).", 4_096, 5_000),
            ("This endpoint's maximum context length is 163840 tokens. However, you requested about 200000 tokens (199000 of text input, 1000 in the output).", 163_840, 199_000),
            ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272_000, 300_000),
            ("This model's maximum context length is 262144 tokens. However, your request has 1000010 input tokens.", 262_144, 1_000_010),
            ("You passed 5000 input tokens and requested 1000 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3096 tokens.", 4_096, 5_000),
            ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4_096, 5_000),
            ("The prompt (total length 25938) is too long to fit into the model (context length 4096).", 4_096, 25_938),
            ("The input (61709 tokens) is longer than the model's context length (40960 tokens).", 40_960, 61_709),
            ("Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input.", 59_862, 160_062),
            ("Input length (265330) exceeds model's maximum context length (262144).", 262_144, 265_330),
            ("Input length 40000 exceeds the maximum allowed input length of 32768 tokens.", 32_768, 40_000),
            ("Requested input length 5000 exceeds maximum input length 4096", 4_096, 5_000),
            ("Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256878 tokens: 31216 tokens from the input messages and 225662 tokens for the completion.", 256_000, 31_216),
            ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
            ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length", 200_000, 188_240),
            ("The prompt is too long: 203557, model maximum context length: 196607", 196_607, 203_557),
            ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576, 1_200_000),
            ("Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.", 1_048_576, 1_200_000),
            ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4_096, 5_000),
            ("Prompt has 5000 tokens, but the configured context size is 4096 tokens", 4_096, 5_000),
            ("Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.", 4_096, 5_000),
            ("Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)", 7_424, 15_028),
            ("The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 8485 >= n_ctx: 8192).", 8_192, 8_485),
            ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32_768, 40_000),
            ("This model's maximum prompt length is 131072 but the request contains 500000 tokens.", 131_072, 500_000),
            ("prompt token count of 70000 exceeds the limit of 64000", 64_000, 70_000),
            ("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8_192, 9_000),
            ("Input validation error: `inputs` must have less than 4095 tokens. Given: 5000", 4_095, 5_000),
            ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. Given: 1000 `inputs` tokens and 1024 `max_new_tokens`", 1_512, 1_000),
            ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt", 4_081, 4_292),
            ("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", 8_192, 9_000),
            ("This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion).", 4_097, 3_970),
            ("Requested tokens (2285) exceed context window of 2048", 2_048, 2_285),
        ];
        for (message, limit, prompt) in table {
            check(message, Some(limit), Some(prompt));
        }
        #[rustfmt::skip]
        let limits = [
            ("The input token count exceeds the maximum number of tokens allowed 32768.", 32_768),
            ("This model's maximum context length is 131072 tokens. However, you requested 16000 output tokens and your prompt contains at least 115073 input tokens, for a total of at least 131073 tokens.", 131_072),
            ("Range of input length should be [1, 30720]", 30_720),
            ("Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000", 6_000),
            ("5021: The estimated number of input and maximum output tokens (8810) exceeded this model context window limit (8192).", 8_192),
            ("too many tokens: size limit exceeded by 168512 tokens. The limit for this model is 132000 tokens.", 132_000),
            ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8_000),
            ("The maximum input length is 32000 tokens.", 32_000),
        ];
        for (message, limit) in limits {
            check(message, Some(limit), None);
        }
        for message in [
            "the request exceeds the available context size. try increasing the context size",
            "Please reduce the length of the messages or completion.",
            "the input length exceeds the context length",
            "prompt too long; exceeded max context length by 1200 tokens",
            "a > b",
            "prompt is too long: 3 tokens > 2 maximum",
            "maximum context length is 99999999999999999999999999 tokens",
            "",
        ] {
            check(message, None, None);
        }
    }

    #[test]
    fn fields_hold_lengths_or_nothing() {
        for (field, want) in [(4_096, Some(4_096)), (0, None), (-1, None)] {
            assert_eq!(read_length(&field.into()), want, "{field}");
        }
        assert_eq!(read_length(&"4096".into()), None);
    }
}
