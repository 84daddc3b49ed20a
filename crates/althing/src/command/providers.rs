//! `providers`: what every program on this machine can use.

use super::reach::{Reach, ask_service};
use super::{Desk, print, tell};
use crate::args::{AddLocal, AddOauth, AddProvider, Providers};
use crate::input;
use crate::terminal::table::table;
use althing_gateway::{Provider, provider};
use althing_hub::service::words::{self, AddApiKey, Added, Caller, Challenge, ProviderInfo};
use althing_stdx::redact::Secret;
use althing_stdx::{Fault, Kind, Result};
use std::path::Path;
use tokio::time::{Duration, Instant};

pub async fn providers(action: Providers) -> Result<()> {
    let desk = Desk::open();
    match action {
        Providers::Add(args) => add(&desk, args).await,
        Providers::AddOauth(args) => log_in(&desk, args).await,
        Providers::AddLocal(args) => add_local(&desk, args).await,
        Providers::List { json } => {
            let all = ask_service!(desk.reach().await?, list_providers())?;
            print(&if json { all.iter().map(line).collect() } else { shown(&all) })
        }
        Providers::Remove { provider } => {
            ask_service!(desk.reach().await?, delete_provider(&provider))?;
            print(&format!("{provider} and its key are removed.\n"))
        }
        Providers::Test { provider } => {
            let said = ask_service!(desk.reach().await?, test_provider(&provider))?;
            print(&format!("{provider}: {said}\n"))
        }
    }
}

async fn add(desk: &Desk, args: AddProvider) -> Result<()> {
    // What no key opens is refused without asking for one.
    let takes_key = |row: &&Provider| !row.key_env.is_empty();
    let api_key = key(&args, provider(&args.provider_type).filter(takes_key))?;
    let wanted = AddApiKey {
        name: args.name.unwrap_or_else(|| args.provider_type.clone()),
        provider_type: args.provider_type,
        api_key,
        base_url: args.base_url,
    };
    let added = ask_service!(desk.reach().await?, add_api_key(wanted))?;
    say_added(desk, &added)
}

/// From a variable, the terminal or standard input; a command line can be read by others.
fn key(args: &AddProvider, row: Option<&Provider>) -> Result<Option<Secret>> {
    if args.no_key {
        return Ok(None);
    }
    if let Some(name) = &args.key_env {
        let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let missing = || Fault::invalid(format!("--key-env: {name} is not set"));
        return value.map(|value| Some(Secret::new(value.trim()))).ok_or_else(missing);
    }
    let Some(row) = row else { return Ok(None) };
    let hint = if row.needs_key { "" } else { " (Enter for none)" };
    match input::secret(&format!("Key of {}{hint}: ", args.provider_type))? {
        None if row.needs_key => Err(Fault::invalid("the key: it is empty")),
        key => Ok(key),
    }
}

async fn add_local(desk: &Desk, args: AddLocal) -> Result<()> {
    let file = std::path::absolute(&args.file)
        .map_err(|e| Fault::invalid(format!("file {}: {e}", args.file.display())))?;
    let stem = || Path::new(&args.file).file_stem().map(|it| it.to_string_lossy().into_owned());
    let wanted = words::AddLocal {
        name: args.name.clone().or_else(stem).unwrap_or_default(),
        model_path: file.to_string_lossy().into_owned(),
    };
    let added = ask_service!(desk.reach().await?, add_local(wanted))?;
    say_trouble(desk, &added);
    let id = &added.provider_id;
    print(&format!("{id} is added; ask it: althing ask --models {id} \"…\"\n"))
}

/// Tells what the person should know of a provider that was added.
pub(super) fn say_trouble(desk: &Desk, added: &Added) {
    if let Some(note) = &added.note {
        tell(desk.screen, note);
    }
}

fn say_added(desk: &Desk, added: &Added) -> Result<()> {
    say_trouble(desk, added);
    print(&format_added(&added.provider_id))
}

fn format_added(id: &str) -> String {
    format!("{id} is added; its models are {id}:… (`althing models` lists them).\n")
}

/// Starts a login, shows the code, and waits until it is used.
async fn log_in(desk: &Desk, args: AddOauth) -> Result<()> {
    let reach = desk.reach().await?;
    let name = args.name.unwrap_or_else(|| args.provider_type.clone());
    let wanted = words::AddOAuth { name, provider_type: args.provider_type };
    let caller = Caller { connection: "command line".into(), name: "althing".into() };
    let (added, challenge) = match &reach {
        Reach::There(client) => client.add_oauth(wanted).await?,
        Reach::Here(service) => service.add_oauth(&caller, wanted).await?,
    };
    say_trouble(desk, &added);
    print(&invitation(&challenge))?;
    let until = Instant::now() + Duration::from_secs(challenge.expires_in.max(0) as u64);
    loop {
        let done = match &reach {
            Reach::There(client) => client.complete_oauth(&added.provider_id).await,
            Reach::Here(service) => service.complete_oauth(&caller, &added.provider_id).await,
        };
        match done {
            Ok(_) => return print(&format_added(&added.provider_id)),
            Err(fault) if fault.kind == Kind::Busy && Instant::now() < until => {}
            Err(fault) => return Err(fault),
        }
    }
}

fn invitation(challenge: &Challenge) -> String {
    let minutes = challenge.expires_in / 60;
    let direct = challenge.verification_uri_complete.as_ref();
    let direct = direct.map(|uri| format!("or open {uri}\n")).unwrap_or_default();
    format!(
        "Open {} and enter the code {}\n{direct}The code holds for {minutes} minutes; waiting …\n",
        challenge.verification_uri, challenge.user_code
    )
}

fn shown(all: &[ProviderInfo]) -> String {
    if all.is_empty() {
        return "There are no providers yet. `althing providers add openai` adds one.\n".into();
    }
    let head = ["ID", "NAME", "TYPE", "WHERE", "KEY", "FROM"].map(String::from).to_vec();
    let rows = all.iter().map(|it| {
        let place = it.local_path.clone().or_else(|| it.base_url.clone()).unwrap_or_default();
        let off = if it.enabled { "" } else { " (off)" };
        let from =
            it.note.as_ref().map_or(it.source.clone(), |note| format!("{}; {note}", it.source));
        vec![
            format!("{}{off}", it.provider_id),
            it.name.clone(),
            it.provider_type.clone(),
            place,
            it.key_hint.clone().unwrap_or_else(|| "-".into()),
            from,
        ]
    });
    table(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}

fn line(it: &ProviderInfo) -> String {
    let line = serde_json::json!({
        "provider_id": it.provider_id, "name": it.name, "type": it.kind as u32,
        "provider_type": it.provider_type, "base_url": it.base_url, "local_path": it.local_path,
        "enabled": it.enabled, "source": it.source, "key": it.key_hint, "note": it.note,
    });
    format!("{line}\n")
}
