//! `pull`.

use althing_hub::pull::parse_bytes;
use clap::Args;

pub const PULL_HELP: &str = "\
Examples:
  althing pull                                       # what is recommended, here, or begun
  althing pull llama3.2                              # from Ollama's registry
  althing pull bartowski/SmolLM2-1.7B-Instruct-GGUF  # from Hugging Face, in the size that fits
  althing pull Qwen/Qwen3-4B-GGUF:Q4_K_M             # in the size you name
  althing pull https://example.com/model.gguf --sha256 9f86d0…

Names:
  name[:tag]                    Ollama's library; ollama.com/OWNER/NAME[:TAG] for others
  owner/repo[:QUANTISATION]     Hugging Face; also owner/repo/FILE.gguf and addresses of its pages
  https://…                     any GGUF file

A download that was stopped goes on where it was. HF_TOKEN opens private and gated models;
HF_ENDPOINT and OLLAMA_REGISTRY (in the environment, not in .env) name other servers.";

#[derive(Debug, Args)]
pub struct Pull {
    /// The model; without it, recommended ones are listed and those that are here already
    pub name: Option<String>,
    /// What to call its provider [default: a short form of its name]
    #[arg(long = "as", value_name = "PROVIDER", requires = "name")]
    pub provider_name: Option<String>,
    /// Take it even if it needs more memory than is free
    #[arg(long, requires = "name")]
    pub force: bool,
    /// Download it even if an earlier pull or another program on this machine has it
    #[arg(long, requires = "name")]
    pub download: bool,
    /// Only get the file; do not add it as a provider
    #[arg(long, requires = "name", conflicts_with = "provider_name")]
    pub no_add: bool,
    /// What the file's SHA-256 must be; with it, plain http:// addresses are taken too
    #[arg(long, value_name = "HEX", requires = "name", value_parser = read_sha256)]
    pub sha256: Option<String>,
    /// The largest download that is taken, such as 50GB
    #[arg(long, value_name = "SIZE", requires = "name", default_value = "200GB", value_parser = read_size)]
    pub max_size: u64,
    /// Print the lists as JSON lines
    #[arg(long, conflicts_with = "name")]
    pub json: bool,
}

fn read_sha256(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_prefix("sha256:").unwrap_or(&text);
    match text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text.into()),
        false => Err("want 64 hexadecimal digits".into()),
    }
}

fn read_size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "want a size such as 50GB".into())
}
