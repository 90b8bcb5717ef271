//! What a verifier has to say of a certificate that it does not accept.
//!
//! rustls turns the error of a verifier into an alert for the other end, and hands the error on; it
//! has no room for words beside the kind of alert. So a verifier leaves its sentence here, and
//! whoever has called rustls takes it, in one and the same call: a verifier is only called from
//! within one, on the same thread.

use std::cell::RefCell;

thread_local! {
    static WHY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Leaves a sentence.
pub(super) fn leave(why: String) {
    WHY.with(|place| *place.borrow_mut() = Some(why));
}

/// What `call` returned, and the sentence that was left meanwhile.
pub(super) fn hear<X>(call: impl FnOnce() -> X) -> (X, Option<String>) {
    WHY.with(|place| place.borrow_mut().take());
    let outcome = call();
    (outcome, WHY.with(|place| place.borrow_mut().take()))
}
