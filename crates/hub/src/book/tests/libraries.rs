//! Several programs, one file.

use super::{KEY, world};
use crate::book::{Library, key_id};
use crate::config::Config;
use crate::secrets::Secrets;
use crate::service::words::{Change, ProviderKind, RouteTarget};
use crate::store::{ListedModel, NewProvider, Store, Stored};
use althing_stdx::redact::Secret;
use std::sync::Arc;
use std::time::Duration;

fn library(home: &std::path::Path, secrets: &Secrets) -> Arc<Library> {
    let world = world(home, &[]);
    let mut config = Config::load(&world);
    config.endpoints.retain(|it| it.explicit);
    let store = Store::open(&config.database()).unwrap();
    Library::new(world, Arc::new(config), store, secrets.clone())
}

async fn add(library: &Library, name: &str) -> String {
    let new = NewProvider {
        name: name.into(),
        kind: ProviderKind::ApiKey,
        row: "openai".into(),
        base_url: None,
        local_path: None,
    };
    let row = library.store().add_provider(new, 1).await.unwrap();
    library.secrets().set(&key_id(&row.id), &Secret::new(KEY)).await.unwrap();
    library.store().update_provider(&Stored { enabled: true, ..row.clone() }).await.unwrap();
    row.id
}

#[tokio::test]
async fn each_sees_what_the_other_writes() {
    let home = tempfile::tempdir().unwrap();
    let secrets = Secrets::in_memory();
    let (one, two) = (library(home.path(), &secrets), library(home.path(), &secrets));
    two.refresh().await.unwrap();
    assert!(two.book().endpoint("my-openai").is_none());

    let id = add(&one, "My OpenAI").await;
    two.refresh().await.unwrap();
    assert_eq!(id, "my-openai");
    assert_eq!(two.book().targets("gpt-5.1").unwrap()[0].id(), "my-openai:gpt-5.1");
    let before = two.book();
    two.refresh().await.unwrap();
    assert!(Arc::ptr_eq(&before, &two.book()), "nothing changed, so nothing is read");

    let target = RouteTarget { provider_id: id.clone(), model_id: "gpt-5.1".into() };
    two.store().set_route("fast", vec![target]).await.unwrap();
    two.store().set_enabled(&id, "gpt-4.1", false).await.unwrap();
    one.refresh().await.unwrap();
    assert_eq!(one.book().targets("fast").unwrap()[0].id(), "my-openai:gpt-5.1");
    assert!(one.book().targets("my-openai:gpt-4.1").unwrap_err().message.contains("disabled"));

    assert!(one.store().remove_provider(&id, true).await.unwrap());
    two.refresh().await.unwrap();
    assert!(two.book().targets("fast").unwrap_err().message.contains("no such provider"));
}

#[tokio::test]
async fn what_another_writes_is_told_like_what_one_writes_oneself() {
    let home = tempfile::tempdir().unwrap();
    let secrets = Secrets::in_memory();
    let (one, two) = (library(home.path(), &secrets), library(home.path(), &secrets));
    let mut told = two.changes().listen();
    let mut told = async || {
        two.refresh().await.unwrap();
        two.reload().await.unwrap();
        let mut all = vec![];
        while let Ok(change) = told.try_recv() {
            all.push(change);
        }
        all
    };
    let id = add(&one, "Work").await;
    let of = |change: fn(String) -> Change| change(id.clone());
    assert_eq!(told().await, [of(Change::ProviderAdded)]);
    let listed = |model: &str| ListedModel {
        model: model.into(),
        display: None,
        context_tokens: Some(4_096),
    };
    let models = || vec![listed("a"), listed("b")];
    one.store().set_listed(&id, models(), 1).await.unwrap();
    assert_eq!(told().await, [of(Change::ProviderChanged), of(Change::ModelsChanged)]);
    one.store().set_listed(&id, models(), 1).await.unwrap();
    assert_eq!(told().await, []);
    one.store().set_enabled(&id, "a", false).await.unwrap();
    assert_eq!(told().await, [of(Change::ModelsChanged)]);
    let target = RouteTarget { provider_id: id.clone(), model_id: "b".into() };
    one.store().set_route("fast", vec![target]).await.unwrap();
    assert_eq!(told().await, [Change::RouteChanged("fast".into())]);
    one.store().set_route("fast", vec![]).await.unwrap();
    assert_eq!(told().await, [Change::RouteChanged("fast".into())]);
    one.store().remove_provider(&id, true).await.unwrap();
    assert_eq!(told().await, [of(Change::ProviderRemoved)]);
}

#[tokio::test(start_paused = true)]
async fn who_never_asks_is_told_within_a_moment() {
    let home = tempfile::tempdir().unwrap();
    let secrets = Secrets::in_memory();
    let (one, two) = (library(home.path(), &secrets), library(home.path(), &secrets));
    two.watch();
    add(&one, "Work").await;
    let seen = async {
        while two.book().endpoint("work").is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), seen).await.unwrap();
    let weak = Arc::downgrade(&two);
    drop(two);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(weak.upgrade().is_none(), "the watch does not keep it alive");
}

#[tokio::test]
async fn ids_and_names_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let library = library(home.path(), &Secrets::in_memory());
    let ids = [
        add(&library, "Work").await,
        add(&library, "Work").await,
        add(&library, "work!").await,
        add(&library, "Demo").await,
    ];
    assert_eq!(ids, ["work", "work-2", "work-3", "demo-2"]);
    library.refresh().await.unwrap();
    let book = library.book();
    let mut names: Vec<&str> = book.entries.iter().map(|it| it.row.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Demo", "Work", "Work (2)", "work!"]);
}
