//! Loading: a file becomes an engine, or a sentence that says why not.

use crate::args::{Args, CONTEXT_DEFAULT, cores};
use crate::engine::{Engine, Job};
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use std::num::NonZeroU32;
use std::path::Path;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// A model of fewer bytes is faster on one thread: its threads would mostly wait for each other.
const TINY_BYTES: u64 = 64 << 20;
/// What a model without a template of its own, or with one that llama.cpp does not know, is given.
const TEMPLATE_FALLBACK: &str = "chatml";

/// What clients may know of the model.
#[derive(Debug, Clone)]
pub struct About {
    pub name: String,
    pub context: u32,
}

/// Loads the model, tells how that went, and answers requests until nobody can send any more.
pub fn serve(
    args: &Args,
    runtime: &Handle,
    tell: oneshot::Sender<Result<About, String>>,
    jobs: mpsc::Receiver<Job>,
) {
    // Where nobody listens any more the process is ending: nothing to do.
    let told = |it| _ = tell.send(it);
    let loaded = LlamaBackend::init().map_err(|error| error.to_string());
    let loaded = loaded.and_then(|backend| Ok((load(&backend, &args.model)?, backend)));
    let (model, backend) = match loaded {
        Ok(loaded) => loaded,
        Err(why) => return told(Err(why)),
    };
    let params = context_params(args, &model);
    let context = match model.new_context(&backend, params) {
        Ok(context) => context,
        Err(error) => return told(Err(format!("no context of this size: {error}"))),
    };
    let name = name(&model, &args.model);
    let engine = Engine::new(&model, context, template(&model), runtime.clone());
    told(Ok(About { name, context: engine.context_tokens() }));
    engine.run(jobs);
}

fn load(backend: &LlamaBackend, file: &Path) -> Result<LlamaModel, String> {
    let shown = file.display();
    std::fs::File::open(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    // llama.cpp itself writes to the standard error output what is wrong with a file.
    LlamaModel::load_from_file(backend, file, &LlamaModelParams::default())
        .map_err(|_| format!("llama.cpp cannot load {shown}: see the lines above"))
}

fn context_params(args: &Args, model: &LlamaModel) -> LlamaContextParams {
    let trained = model.n_ctx_train().max(1);
    let context = args.context.unwrap_or_else(|| trained.min(CONTEXT_DEFAULT));
    let threads = args.threads.unwrap_or_else(|| threads(model.size(), cores()));
    let threads = i32::try_from(threads).unwrap_or(1);
    LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(context))
        .with_n_batch(crate::engine::BATCH_TOKENS as u32)
        .with_n_threads(threads)
        .with_n_threads_batch(threads)
}

/// One core is left to the person.
fn threads(model_bytes: u64, cores: usize) -> usize {
    if model_bytes < TINY_BYTES { 1 } else { cores.saturating_sub(1).max(1) }
}

fn name(model: &LlamaModel, file: &Path) -> String {
    let named = model.meta_val_str("general.name").ok().filter(|name| !name.is_empty());
    named.unwrap_or_else(|| file.file_stem().unwrap_or_default().to_string_lossy().into_owned())
}

/// The model's own template if llama.cpp can apply it.
fn template(model: &LlamaModel) -> LlamaChatTemplate {
    let probe = LlamaChatMessage::new("user".into(), "?".into()).expect("no zero byte in it");
    let own = model.chat_template(None).ok();
    own.filter(|own| model.apply_chat_template(own, &[probe], true).is_ok()).unwrap_or_else(|| {
        LlamaChatTemplate::new(TEMPLATE_FALLBACK).expect("no zero byte in the fallback's name")
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_never_crowd_the_machine() {
        let large = super::TINY_BYTES;
        for (bytes, cores, threads) in
            [(0, 8, 1), (large - 1, 8, 1), (large, 8, 7), (large, 2, 1), (large, 1, 1)]
        {
            assert_eq!(super::threads(bytes, cores), threads, "{bytes} bytes on {cores} cores");
        }
    }
}
