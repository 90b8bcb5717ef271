//! The page for people at `/`: one file that asks nobody but this daemon, and changes nothing.

use hyper::header::{self, HeaderValue};

use super::answer::{Answer, text};
use crate::client::new_id;

const PAGE: &str = include_str!("page.html");

/// What stands in the page where a nonce is to be.
const NONCE: &str = "NONCE";

/// Only the script and the style of the page itself count, and they have no way to make elements
/// of what the daemon says.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

pub(super) fn page() -> Answer {
    let nonce = new_id();
    let mut answer = text("text/html; charset=utf-8", PAGE.replace(NONCE, &nonce));
    let headers = answer.headers_mut();
    let policy = HeaderValue::from_str(&policy(&nonce)).expect("it has no other characters");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}
