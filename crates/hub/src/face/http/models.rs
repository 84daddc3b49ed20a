//! The names that can be asked for: aliases, models, and the ways to discuss.

use super::discussion;
use super::reply::{Reply, json, refusal};
use super::router::{Desk, shape};
use super::shape::Shape;
use crate::service::words::ModelInfo;
use althing_stdx::{Fault, Kind, Result};
use axum::extract::{Path, State};
use hyper::HeaderMap;
use serde_json::{Value, json as value};
use std::collections::BTreeMap;

/// A name and who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    id: String,
    display: String,
    owner: String,
}

pub(super) async fn list(State(desk): State<Desk>, headers: HeaderMap) -> Reply {
    let shape = shape("", &headers);
    match names(&desk).await {
        Ok(names) => json(&page(shape, &names)),
        Err(fault) => refusal(shape, &fault),
    }
}

pub(super) async fn one(
    State(desk): State<Desk>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Reply {
    let shape = shape("", &headers);
    let found = names(&desk).await.and_then(|names| {
        let unknown = || Fault::new(Kind::UnknownModel, format!("there is no model '{id}'"));
        names.iter().find(|name| name.id == id).map(|it| entry(shape, it)).ok_or_else(unknown)
    });
    match found {
        Ok(found) => json(&found),
        Err(fault) => refusal(shape, &fault),
    }
}

async fn names(desk: &Desk) -> Result<Vec<Name>> {
    let (aliases, models) = (desk.service.aliases().await?, desk.service.models(None).await?);
    Ok(all(&aliases, &models))
}

/// Aliases first, since they win; then every model, by its bare name too where that means one
/// thing; then the methods.
fn all(aliases: &[String], models: &[ModelInfo]) -> Vec<Name> {
    let models: Vec<&ModelInfo> = models.iter().filter(|model| model.enabled).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for model in &models {
        *holders.entry(&model.model_id).or_default() += 1;
    }
    let is_plain = |id: &String| holders.get(id.as_str()) == Some(&1) && !aliases.contains(id);
    let named = |id: &str, model: &ModelInfo| Name {
        id: id.into(),
        display: model.display.clone(),
        owner: model.provider_id.clone(),
    };
    let own = |id: &str| Name { id: id.into(), display: id.into(), owner: "althing".into() };
    let whole = models.iter().map(|it| named(&format!("{}:{}", it.provider_id, it.model_id), it));
    let bare = models.iter().filter(|it| is_plain(&it.model_id)).map(|it| named(&it.model_id, it));
    let aliases = aliases.iter().map(|alias| own(alias));
    let methods = discussion::names().map(|name| own(&name));
    aliases.chain(whole).chain(bare).chain(methods).collect()
}

fn page(shape: Shape, names: &[Name]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| entry(shape, name)).collect();
    let id = |name: Option<&Name>| name.map(|it| it.id.clone());
    match shape {
        Shape::OpenAi => value!({ "object": "list", "data": data }),
        Shape::Anthropic => value!({
            "data": data,
            "first_id": id(names.first()),
            "has_more": false,
            "last_id": id(names.last()),
        }),
    }
}

/// Nobody knows when a model was made; clients want a time.
fn entry(shape: Shape, name: &Name) -> Value {
    let Name { id, display, owner } = name;
    match shape {
        Shape::OpenAi => {
            value!({ "id": id, "object": "model", "created": 0, "owned_by": owner })
        }
        Shape::Anthropic => value!({
            "type": "model",
            "id": id,
            "display_name": display,
            "created_at": "1970-01-01T00:00:00Z",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(provider: &str, model: &str, enabled: bool) -> ModelInfo {
        ModelInfo {
            model_id: model.into(),
            provider_id: provider.into(),
            display: model.to_uppercase(),
            enabled,
            capability_chat: None,
            capability_streaming: None,
        }
    }

    #[test]
    fn bare_names_only_where_they_mean_one_thing() {
        let models = [
            model("a", "one", true),
            model("a", "both", true),
            model("b", "both", true),
            model("b", "off", false),
            model("b", "quick", true),
        ];
        let names = all(&["quick".into()], &models);
        let ids: Vec<&str> = names.iter().map(|it| it.id.as_str()).collect();
        let want = ["quick", "a:one", "a:both", "b:both", "b:quick", "one"];
        assert_eq!(ids[..want.len()], want);
        assert_eq!(ids.len(), want.len() + 7, "and seven methods: {ids:?}");
        assert_eq!(ids[want.len()], "althing/standard");
    }

    #[test]
    fn both_shapes() {
        let names = all(&[], &[model("a", "one", true)]);
        let openai = page(Shape::OpenAi, &names);
        assert_eq!(openai["object"], "list");
        assert_eq!(openai["data"][0]["id"], "a:one");
        assert_eq!(openai["data"][0]["owned_by"], "a");
        let anthropic = page(Shape::Anthropic, &names);
        assert_eq!(anthropic["first_id"], "a:one");
        assert_eq!(anthropic["has_more"], false);
        assert_eq!(anthropic["data"][0]["display_name"], "ONE");
    }
}
