//! The capability service over HTTP, as OpenAI's and Anthropic's clients speak it.
