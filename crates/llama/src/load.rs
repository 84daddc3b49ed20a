//! Loading: a file becomes an engine, or a sentence that says why not.

use crate::args::{Args, CONTEXT_DEFAULT};
use crate::cores::choose_threads;
use crate::embedder::Embedder;
use crate::engine::{BATCH_TOKENS, Engine, Job};
use crate::job_line::JobLine;
use crate::memory::limit_cache;
use crate::prompt_cache::PromptCache;
use crate::pulse::Pulse;
use crate::template::{CHATML, ChatTemplate, Markers};
use crate::tokenizer::Tokenizer;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What clients may know of the model.
#[derive(Debug, Clone)]
pub struct About {
    pub name: String,
    pub context: u32,
    pub trained: u32,
}

/// Loads the model, tells how that went, and answers requests until nobody can send any more.
pub fn serve(
    args: &Args,
    tell: oneshot::Sender<Result<About, String>>,
    jobs: &JobLine<Job>,
    pulse: &Arc<Pulse>,
) {
    // Where nobody listens any more the process is ending: nothing to do.
    let told = |it| _ = tell.send(it);
    let loaded = LlamaBackend::init().map_err(|error| error.to_string());
    let loaded = loaded.and_then(|backend| Ok((load_model(&backend, &args.model)?, backend)));
    let (model, backend) = match loaded {
        Ok(loaded) => loaded,
        Err(why) => return told(Err(why)),
    };
    let threads = args.threads.unwrap_or_else(|| choose_threads(model.size()));
    let threads = i32::try_from(threads).unwrap_or(1);
    let context = match model.new_context(&backend, context_params(args, &model, threads)) {
        Ok(context) => context,
        Err(error) => {
            let why = format!("no context of this size: {error}; try a smaller --context");
            return told(Err(why));
        }
    };
    let about = About {
        name: name_model(&model, &args.model),
        context: context.n_ctx(),
        trained: model.n_ctx_train(),
    };
    let tokenizer = || Tokenizer::new(&model, pulse.clone());
    let embedder =
        Embedder::new(&backend, &model, args.pooling, threads, about.context, tokenizer());
    let engine = Engine {
        model: &model,
        context,
        template: choose_template(&model),
        embedder,
        tokenizer: tokenizer(),
        pulse: pulse.clone(),
        held: Vec::new(),
        cache: PromptCache::new(limit_cache(args.cache_mib << 20)),
    };
    told(Ok(about));
    engine.run(jobs);
}

fn load_model(backend: &LlamaBackend, file: &Path) -> Result<LlamaModel, String> {
    let shown = file.display();
    std::fs::File::open(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    // llama.cpp itself writes to the standard error output what is wrong with a file.
    LlamaModel::load_from_file(backend, file, &LlamaModelParams::default())
        .map_err(|_| format!("llama.cpp cannot load {shown}: see the lines above"))
}

/// As llama-server has it: flash attention where llama.cpp finds it possible is its default.
fn context_params(args: &Args, model: &LlamaModel, threads: i32) -> LlamaContextParams {
    let trained = model.n_ctx_train().max(1);
    let context = args.context.unwrap_or_else(|| trained.min(CONTEXT_DEFAULT));
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(context))
        .with_n_batch(BATCH_TOKENS as u32)
        .with_n_ubatch(BATCH_TOKENS as u32)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

fn name_model(model: &LlamaModel, file: &Path) -> String {
    let named = model.meta_val_str("general.name").ok().filter(|name| !name.is_empty());
    named.unwrap_or_else(|| file.file_stem().unwrap_or_default().to_string_lossy().into_owned())
}

/// Returns the model's own template, or ChatML where it has none that can be used; none for a model
/// that reads in both directions, which cannot speak.
fn choose_template(model: &LlamaModel) -> Option<ChatTemplate> {
    let architecture = model.meta_val_str("general.architecture").unwrap_or_default();
    let causal = model.meta_val_str(&format!("{architecture}.attention.causal"));
    if causal.is_ok_and(|causal| causal == "false") {
        return None;
    }
    let own = model.chat_template(None).ok().and_then(|own| own.to_string().ok());
    let markers = Markers {
        begin: write_marker(model, model.vocab().bos()),
        end: write_marker(model, model.vocab().eos()),
        controls: list_controls(model),
    };
    if let Some(own) = own {
        match ChatTemplate::parse(&own, markers.clone()) {
            Ok(template) => return Some(template),
            Err(why) => eprintln!(
                "althing-llama: the model's chat template cannot be used, ChatML stands in: {why}"
            ),
        }
    }
    ChatTemplate::parse(CHATML, markers).ok()
}

/// Lists the texts of all control tokens, but those of a single character, which are everywhere.
fn list_controls(model: &LlamaModel) -> Vec<String> {
    let tokens = (0..model.n_vocab()).map(LlamaToken);
    let controls = tokens.filter(|token| model.vocab().is_control(*token));
    let texts = controls.map(|token| write_marker(model, token));
    texts.filter(|text| text.chars().count() > 1).collect()
}

fn write_marker(model: &LlamaModel, token: LlamaToken) -> String {
    if token.0 < 0 {
        return String::new();
    }
    let bytes = model.vocab().token_to_piece(token, true, None);
    String::from_utf8_lossy(&bytes).into_owned()
}
