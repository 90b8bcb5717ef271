//! Answers: a value, a refusal, or lines for as long as there are any.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::api::{Code, JSON_LINES, Refusal, VERSION, VERSION_HEADER};
use crate::holds::Refused;

/// The body of any answer.
pub(super) type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

/// Any answer.
pub(super) type Answer = Response<AnyBody>;

fn with_body(status: StatusCode, kind: &'static str, body: AnyBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(VERSION_HEADER, HeaderValue::from(VERSION));
    answer
}

fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    with_body(status, kind, Full::new(text.into()).boxed_unsync())
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).expect("our own types are JSON");
    whole(StatusCode::OK, "application/json", text)
}

/// A text of this type.
pub(super) fn text(kind: &'static str, text: impl Into<Bytes>) -> Answer {
    whole(StatusCode::OK, kind, text)
}

/// Done, and there is nothing to be said.
pub(super) fn done() -> Answer {
    let mut answer = whole(StatusCode::NO_CONTENT, "application/json", "");
    answer.headers_mut().remove(header::CONTENT_TYPE);
    answer
}

/// No.
pub(super) fn refused(refused: Refused) -> Answer {
    let Refused { code, why } = refused;
    let refusal = Refusal { error: why, code };
    let text = serde_json::to_vec(&refusal).expect("our own types are JSON");
    let mut answer = whole(status(code), "application/json", text);
    if matches!(code, Code::TooLarge | Code::TooSlow) {
        // What is still to come of the request is not waited for.
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

/// The status of an answer that says no for this reason.
const fn status(code: Code) -> StatusCode {
    match code {
        Code::NotFound | Code::NoSuchHold | Code::NoSuchMember => StatusCode::NOT_FOUND,
        Code::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        Code::UnknownVersion | Code::BadRequest => StatusCode::BAD_REQUEST,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Code::OtherHold => StatusCode::CONFLICT,
        Code::NotYours | Code::NotAllowed | Code::LocalOnly => StatusCode::FORBIDDEN,
        Code::HoldOver => StatusCode::GONE,
        Code::Leaving | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::TooMany => StatusCode::TOO_MANY_REQUESTS,
    }
}

/// JSON lines, which no proxy on the way is to collect.
pub(super) fn lines(source: impl Source) -> Answer {
    streamed(JSON_LINES, source)
}

/// Server-sent events.
pub(super) fn events(source: impl Source) -> Answer {
    streamed("text/event-stream", source)
}

fn streamed(kind: &'static str, source: impl Source) -> Answer {
    let mut answer = with_body(StatusCode::OK, kind, Streamed::of(source).boxed_unsync());
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

/// Where the parts of a body come from, one after the other.
pub(super) trait Source: Send + Sized + 'static {
    /// The next part; none after the last one.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;
}

/// A value as a line of JSON.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("our own types are JSON");
    line.push(b'\n');
    line
}

/// A body whose parts come when there are any.
struct Streamed<S> {
    /// None after the last part.
    next: Option<Next<S>>,
}

type Next<S> = Pin<Box<dyn Future<Output = (S, Option<Bytes>)> + Send>>;

impl<S: Source> Streamed<S> {
    fn of(source: S) -> Self {
        Self { next: Some(Self::wait(source)) }
    }

    fn wait(mut source: S) -> Next<S> {
        Box::pin(async move {
            let part = source.next().await;
            (source, part)
        })
    }
}

impl<S: Source> Body for Streamed<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let (source, part) = ready!(next.as_mut().poll(cx));
        self.next = part.is_some().then(|| Self::wait(source));
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }
}
