//! `[prices]`: what models cost where the person knows better than the table.

use super::file::TomlFile;
use super::nearest::nearest;
use super::settings::is_model_name;
use super::source::{Row, Sourced, Warning, shown};
use super::{Config, Prices};
use althing_gateway::Price;
use althing_gateway::price::Own;
use toml::{Table, Value};

/// Prices that one file may set; the rest is reported.
const PRICES_MAX: usize = 500;
/// The most that a million tokens can cost, in US dollars.
const USD_MAX: f64 = 10_000.0;
/// Characters of a name that a warning shows.
const NAME_CHARS_MAX: usize = 80;
/// What a price says; the last two may be left out.
const FIELDS: [&str; 4] = ["input", "output", "cached", "cache_write"];

/// Everything `[prices]` says. A wrong price is a warning, and the table's stands.
pub(super) fn read(file: &TomlFile, warnings: &mut Vec<Warning>) -> Sourced<Prices> {
    let source = file.source();
    let mut own = Vec::new();
    for (at, (name, value)) in file.prices().enumerate() {
        match entry(at, name, value) {
            Ok(price) => own.push(price),
            Err((field, problem)) => {
                let key = format!("prices.\"{}\"{field}", shown(name, NAME_CHARS_MAX));
                warnings.push(Warning::new(&key, &source, problem));
            }
        }
    }
    match own.is_empty() {
        true => Sourced::default(Prices::default()),
        false => Sourced { value: Prices::new(own), source },
    }
}

/// One row for each price, as it is in force.
pub(super) fn rows(config: &Config) -> impl Iterator<Item = Row> {
    config.prices.own().iter().map(|Own { place, model, price }| {
        let Price { input, output, cached, cache_write } = price;
        let value = format!(
            "input {input}, output {output}, cached {cached}, cache_write {cache_write} USD per \
             million"
        );
        Row::new(format!("prices.\"{place}:{model}\""), value, &config.prices.source)
    })
}

/// The price, or the field that is wrong and why.
fn entry(at: usize, name: &str, value: &Value) -> Result<Own, (String, String)> {
    let wrong = |problem: String| (String::new(), problem);
    if at >= PRICES_MAX {
        return Err(wrong(format!("is one price too many; there may be {PRICES_MAX}")));
    }
    let parts =
        name.split_once(':').filter(|(place, model)| !place.is_empty() && is_model_name(model));
    let Some((place, model)) = parts else {
        return Err(wrong("must be named provider:model".into()));
    };
    let Some(table) = value.as_table() else {
        return Err(wrong("must be { input = …, output = …, cached = …, cache_write = … }".into()));
    };
    if let Some(name) = table.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        let near = nearest(name, FIELDS, 1).first().map_or(FIELDS.join(", "), ToString::to_string);
        let field = format!(".{}", shown(name, NAME_CHARS_MAX));
        return Err((field, format!("is not known; did you mean {near}?")));
    }
    let input = amount(table, "input")?.ok_or_else(|| wrong("says no input".into()))?;
    let output = amount(table, "output")?.ok_or_else(|| wrong("says no output".into()))?;
    let cached = amount(table, "cached")?.unwrap_or(input);
    let cache_write = amount(table, "cache_write")?.unwrap_or(input);
    let price = Price { input, output, cached, cache_write };
    Ok(Own { place: place.into(), model: model.into(), price })
}

fn amount(table: &Table, field: &str) -> Result<Option<f64>, (String, String)> {
    let Some(value) = table.get(field) else { return Ok(None) };
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    match number.filter(|usd| (0.0..=USD_MAX).contains(usd)) {
        Some(usd) => Ok(Some(usd)),
        None => {
            let problem = format!("must be US dollars per million tokens, from 0 to {USD_MAX}");
            Err((format!(".{field}"), problem))
        }
    }
}
