//! A panic of a function is a failure of its call, which says where it was.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::functions::Failure;

thread_local! {
    /// Where this thread panicked last. What is caught does not tell.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What this gives, or the panic that it ended with.
pub(super) fn caught<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(note_places);
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(failure(&*panic)))
}

/// Notes the place of every panic from now on, and does what was done with it before.
fn note_places() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        let place = about.location().map(ToString::to_string);
        // A thread that is ending has nobody to tell.
        let _ = PLACE.try_with(|it| it.replace(place));
        usual(about);
    }));
}

fn failure(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    match PLACE.take() {
        Some(place) => Failure::at(place, format!("Panic: {text}")),
        None => Failure::ours("Panic", text),
    }
}
