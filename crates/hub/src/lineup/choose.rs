//! Who sits when nobody is named: different minds first, the person's own servers with keys before
//! the ones that merely run here.

use super::{Lineup, Sitting, resolve};
use crate::book::Book;
use crate::config::World;
use crate::discover::{self, Found, FoundModel, FoundProvider, ModelSource, State};
use crate::pull;
use althing_assembly::demo;
use althing_assembly::methods::Method;
use althing_gateway::Prices;

/// Seats where nobody says how many; more voices cost more than they add.
const SEATS: usize = 3;

/// How a newcomer gets real models.
pub fn how_to_add(world: &World) -> String {
    let first = match pull::suggest(world) {
        Some(name) => {
            format!("`althing pull {name}` gets one that fits the free memory of this machine")
        }
        None => "`althing pull` lists some for machines with more free memory".into(),
    };
    format!(
        "For real models, {first}; or set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, \
         XAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, LM Studio or llama-swap; `althing \
         models` shows what is found."
    )
}

/// What each seat stands for where one model has several: the word behind its name, and the
/// instruction.
const STANCES: [(&str, &str); SEATS] = [
    (
        "direct",
        "Give the most direct answer that the evidence supports, and defend it until a reason, not a \
         number of voices, changes it.",
    ),
    (
        "sceptic",
        "Be the sceptic: look for what is wrong, unproven or left out in every answer, your own \
         included, and say what would settle it.",
    ),
    (
        "explorer",
        "Be the explorer: bring the alternatives nobody has named, the unusual case and the view of \
         those who are not at the table.",
    ),
];

/// Seats for `method`: three where it can hold three, and never fewer than it needs.
pub fn choose_for(found: &Found, method: &Method, book: &Book) -> Lineup {
    let fits = |seats: &usize| method.check_seats(*seats).is_ok();
    let most = (1..=SEATS).rev().find(fits).unwrap_or(method.seats_min);
    seat(found, most, method.seats_min, book)
}

/// At most `seats` seats: the configured line-up, else what is found, else demo voices. Two models
/// are enough for a discussion; one alone takes all seats, with a different stance in each.
pub fn choose(found: &Found, seats: usize, book: &Book) -> Lineup {
    seat(found, seats, seats.min(2), book)
}

fn seat(found: &Found, most: usize, least: usize, book: &Book) -> Lineup {
    let (mut notes, config) = (Vec::new(), &book.config);
    if !config.models.is_empty() {
        match resolve(&config.models, book, Some(found)) {
            Ok(lineup) => return lineup,
            Err(fault) => {
                let source = &config.models.source;
                notes
                    .push(format!("The configured line-up (models, {source}) cannot sit: {fault}."))
            }
        }
    }
    notes.extend(found.providers.iter().filter_map(|it| not_listed(it, book)));
    let picks = pick(found, most, book);
    let seats: Vec<Sitting> = picks.iter().map(|pick| sitting(&config.prices, pick)).collect();
    match seats.len() {
        0 => demo_voices(most, notes),
        1 if most > 1 => {
            notes.push(format!(
                "Only {} was found, so it takes all {most} seats, each with a stance of its own.",
                seats[0].name
            ));
            Lineup::new(with_stances(seats, most), notes)
        }
        count if count < least => {
            notes.push(format!(
                "Only {count} models were found and {least} seats are needed, so some sit twice, \
                 each seat with a stance of its own."
            ));
            Lineup::new(with_stances(seats, least), notes)
        }
        _ => Lineup::new(seats, notes),
    }
}

/// Something the person set up that did not say what it has.
fn not_listed(provider: &FoundProvider, book: &Book) -> Option<String> {
    let State::Unreachable(fault) = &provider.state else { return None };
    if !provider.configured.explicit || !provider.models.is_empty() {
        return None;
    }
    let who = provider.configured.endpoint.who();
    Some(match unseen(provider, book) {
        Some(model) => format!("{who} did not list its models ({fault}); {model} is taken unseen."),
        None => format!("{who} is left out: {fault}."),
    })
}

/// What is asked of a provider whose list merely did not come in time: the person has a key for it,
/// and a scripted voice is no substitute.
fn unseen(provider: &FoundProvider, book: &Book) -> Option<&'static str> {
    let State::Unreachable(fault) = &provider.state else { return None };
    let mut preferred = provider.configured.endpoint.provider.preferred.iter().copied();
    let first = preferred.find(|model| book.is_enabled(provider.id(), model));
    first.filter(|_| fault.kind.codes().retryable && provider.models.is_empty())
}

fn demo_voices(most: usize, mut notes: Vec<String>) -> Lineup {
    let voices = demo::VOICES.iter().cycle().take(most);
    let seats: Vec<Sitting> = voices.map(|voice| Sitting::demo(voice.name)).collect();
    notes.push("No model was found, so scripted demo voices speak; they know nothing.".into());
    Lineup::new(seats, notes)
}

/// The same models again and again, until `count` seats are taken.
fn with_stances(seats: Vec<Sitting>, count: usize) -> Vec<Sitting> {
    let stances = STANCES.iter().cycle();
    let again = seats.iter().cycle().take(count).zip(stances);
    let sit = |(seat, (word, stance)): (&Sitting, &(&str, &str))| Sitting {
        name: format!("{} ({word})", seat.name),
        stance: Some(stance.to_string()),
        ..seat.clone()
    };
    again.map(sit).collect()
}

type Pick<'a> = (&'a FoundProvider, FoundModel);

fn sitting(prices: &Prices, (provider, model): &Pick) -> Sitting {
    Sitting::new(prices, &provider.configured.endpoint, &model.model, Some(&model.display))
}

/// First a new family from each provider, then new families from any, then other models.
fn pick<'a>(found: &'a Found, most: usize, book: &Book) -> Vec<Pick<'a>> {
    let (cloud, local): (Vec<_>, Vec<_>) =
        found.providers.iter().partition(|it| !it.configured.endpoint.provider.local);
    let all = cloud.into_iter().chain(local);
    let candidates: Vec<Pick> = all
        .flat_map(|provider| {
            candidates(provider, book).into_iter().map(move |model| (provider, model))
        })
        .collect();
    let mut seated: Vec<Pick> = Vec::new();
    for differs in [from_all_sides, of_another_family, another_model] {
        for pick in &candidates {
            if seated.len() < most && seated.iter().all(|known| differs(known, pick)) {
                seated.push(pick.clone());
            }
        }
    }
    seated
}

fn from_all_sides(a: &Pick, b: &Pick) -> bool {
    of_another_family(a, b) && a.0.id() != b.0.id()
}

fn of_another_family(a: &Pick, b: &Pick) -> bool {
    kin(&a.1) != kin(&b.1)
}

fn another_model(a: &Pick, b: &Pick) -> bool {
    bare(&a.1.model) != bare(&b.1.model)
}

/// What a provider offers: the person's own list, else the preferred models that it has, else its
/// list as it comes.
fn candidates(provider: &FoundProvider, book: &Book) -> Vec<FoundModel> {
    if let Some(model) = unseen(provider, book) {
        return vec![discover::found(&provider.configured, model, None, ModelSource::Listed)];
    }
    let own = |model: &&FoundModel| model.source == ModelSource::Configured;
    let own: Vec<FoundModel> = provider.models.iter().filter(own).cloned().collect();
    let preferred = provider.configured.endpoint.provider.preferred.iter();
    let have: Vec<FoundModel> =
        preferred.filter_map(|wanted| version_of(wanted, &provider.models)).cloned().collect();
    [own, have, provider.models.clone()].into_iter().find(|it| !it.is_empty()).unwrap_or_default()
}

/// `wanted` itself, else a dated version of it.
fn version_of<'a>(wanted: &str, models: &'a [FoundModel]) -> Option<&'a FoundModel> {
    let is_version = |rest: &str| {
        let digits = rest.chars().filter(char::is_ascii_digit).count();
        let dated = digits >= 4 && rest.chars().all(|c| c.is_ascii_digit() || c == '-');
        dated || matches!(rest, "latest" | "preview")
    };
    let version = |it: &&FoundModel| {
        let rest = it.model.strip_prefix(wanted).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(is_version)
    };
    models.iter().find(|it| it.model == wanted).or_else(|| models.iter().find(version))
}

/// The family; a model of an unknown one is its own.
fn kin(model: &FoundModel) -> String {
    if model.family == "other" { bare(&model.model) } else { model.family.into() }
}

/// The model without its maker and in one spelling, since resellers write it differently.
fn bare(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase().replace('.', "-")
}
