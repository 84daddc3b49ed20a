use super::*;
use crate::desk::Nobody;
use crate::document::Form;
use crate::log::{Level, Source};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::advance;

const SETTLE: Duration = Duration::from_secs(1);

fn host() -> Host {
    let entry = Entry { enabled: false, ..Entry::new("x") };
    let document = Document::new(Form::Hl7, "MSH|");
    Host::start(Setup::new(vec![entry], document, Arc::new(Nobody), "/none".into()))
}

fn is_over(quiet: &mut BoxFuture<'_, ()>) -> bool {
    quiet.as_mut().now_or_never().is_some()
}

#[tokio::test(start_paused = true)]
async fn who_prints_is_not_quiet() {
    let host = host();
    let mut quiet = host.quiet(SETTLE).boxed();
    for _ in 0..5 {
        advance(SETTLE * 3 / 4).await;
        host.shared.log(&host.shared.extensions[0], Source::Stderr, Level::Info, "at work");
        assert!(!is_over(&mut quiet));
    }
    // What we ourselves say of it is no work of its own.
    host.shared.log(&host.shared.extensions[0], Source::Host, Level::Info, "it is told of");
    advance(SETTLE).await;
    assert!(is_over(&mut quiet));
}

#[tokio::test(start_paused = true)]
async fn who_has_a_window_open_is_not_quiet() {
    let host = host();
    let (extension, url) = (host.shared.extensions[0].id.clone(), "http://x/".to_string());
    let (title, id) = (String::new(), "w".to_string());
    let window =
        Window { id, extension, url, title, width: 1, height: 1, modal: false, resizable: true };
    host.shared.windows().add(window).unwrap();
    let mut quiet = host.quiet(SETTLE).boxed();
    advance(SETTLE * 100).await;
    assert!(!is_over(&mut quiet));
    assert!(host.window_closed("w"));
    assert!(!is_over(&mut quiet), "its extension may want to do something about that");
    advance(SETTLE).await;
    assert!(is_over(&mut quiet));
}
