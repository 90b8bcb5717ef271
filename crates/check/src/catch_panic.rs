//! Panics of checked code: caught, and reported as data.
//!
//! A handler that panics has done something wrong in some run, and that run is what its author
//! wants to see. So a panic ends the run and not the search. (Where the program is built to abort
//! on panic, nothing can be caught.)

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::thread;

thread_local! {
    /// Whether this thread is inside [`catch_panic`].
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Where this thread panicked last in there.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Does the work; if it panics, what it panicked with and where.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    if !thread::panicking() {
        HOOK.call_once(quieten);
    }
    let outer = INSIDE.replace(true);
    // The state of the work is dropped after a panic, so it is never seen half done.
    let done = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(outer);
    done.map_err(|panic| {
        let place = PLACE.take().map_or_else(String::new, |it| format!(", at {it}"));
        format!("{}{place}", text(&*panic))
    })
}

/// Keeps panics that are caught here off the terminal. All others, on any thread, are told as
/// before.
fn quieten() {
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        if INSIDE.get() {
            PLACE.set(panic.location().map(ToString::to_string));
        } else {
            others(panic);
        }
    }));
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    #[test]
    fn work_that_does_not_panic_is_done() {
        assert_eq!(catch_panic(|| 7), Ok(7));
    }

    #[test]
    fn a_panic_is_its_text_and_its_place() {
        let (one, two) = (1, 2);
        let panic = catch_panic(|| assert!(one == two, "{one} is not {two}")).unwrap_err();
        assert!(
            panic.starts_with("1 is not 2, at ") && panic.contains("catch_panic.rs:"),
            "{panic}"
        );
        assert!(catch_panic(|| panic!("plain")).unwrap_err().starts_with("plain, at "));
        assert!(catch_panic(|| panic_any(7)).unwrap_err().starts_with("no text, at "));
    }

    #[test]
    fn what_panics_within_is_caught_within() {
        let outer = catch_panic(|| catch_panic(|| panic!("inner")).unwrap_err());
        assert!(outer.unwrap().starts_with("inner"));
    }
}
