//! The HTTP interface: what is answered to a request, and to whom.

mod answer;
mod connection;
mod gather;
mod group;
mod holds;
mod listen;
mod operation;
mod page;
mod routes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};
use hyper::{Request, Uri};
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use vorrang_lock::Group;

use self::answer::Answer;
use self::connection::Client;
pub(crate) use self::gather::Others;
pub(crate) use self::group::members;
pub(crate) use self::listen::{serve_tcp, serve_unix};
use self::routes::{Endpoint, Found};
use crate::api::{Code, LONGEST_BODY, SPOKEN, VERSION, VERSION_HEADER};
use crate::holds::{Holds, Owner, Refused};
use crate::metrics::Metrics;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) group: Group,
    pub(crate) holds: Holds,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) about: About,
    /// How other members are asked.
    pub(crate) others: Others,
    /// How long a request may take to arrive.
    pub(crate) request_within: Duration,
}

/// What does not change while the daemon runs.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The name of the group.
    pub(crate) group: String,
    /// The name of this member.
    pub(crate) member: String,
    /// The algorithm.
    pub(crate) algorithm: String,
    /// When the daemon was started, in seconds since 1970.
    pub(crate) started: u64,
}

/// Answers one request.
async fn respond(
    service: &Arc<Service>,
    client: &Arc<Client>,
    request: Request<Incoming>,
) -> Answer {
    match answer(service, client, request).await {
        Ok(answer) => answer,
        Err(refused) => answer::refused(refused),
    }
}

async fn answer(
    service: &Arc<Service>,
    client: &Arc<Client>,
    request: Request<Incoming>,
) -> Result<Answer, Refused> {
    check_version(request.headers())?;
    if client.owner == Owner::Loopback {
        check_origin(request.headers())?;
    }
    let path = request.uri().path();
    let (endpoint, parameter) = match routes::find(request.method(), path) {
        Found::Endpoint(endpoint, parameter) => (endpoint, parameter),
        Found::OtherMethods(methods) => {
            let allowed = methods.join(", ");
            let why = format!("{path} is for {allowed}, and this is {}", request.method());
            let mut answer = answer::refused(Refused::new(Code::WrongMethod, why));
            if let Ok(allowed) = allowed.parse() {
                answer.headers_mut().insert(header::ALLOW, allowed);
            }
            return Ok(answer);
        }
        Found::Nothing => {
            let why = format!("there is nothing at {path}; /v1/openapi.json says what there is");
            return Err(Refused::new(Code::NotFound, why));
        }
        Found::Encoding(text) => {
            let why = format!("'{text}' is not encoded as a part of a path should be");
            return Err(Refused::new(Code::BadRequest, why));
        }
    };
    let known: &[&str] = match endpoint {
        Endpoint::Locks => &["local"],
        Endpoint::ReleaseHold => &["force"],
        _ => &[],
    };
    let flags = flags(request.uri(), known)?;
    let is_set = |name: &str| flags.get(name).copied().unwrap_or_default();
    let body = request.into_body();
    match endpoint {
        Endpoint::Page => Ok(page::page()),
        Endpoint::BeginHold => {
            let wish = read(body, service.request_within).await?;
            holds::begin(service, client, &parameter, wish)
        }
        Endpoint::ShowHold => holds::show(service, &parameter),
        Endpoint::ReleaseHold => holds::release(service, client, &parameter, is_set("force")).await,
        Endpoint::RenewHold => holds::renew(service, client, &parameter),
        Endpoint::HoldProcess => {
            let process = read(body, service.request_within).await?;
            holds::process(service, client, &parameter, &process)
        }
        Endpoint::Locks => Ok(group::locks(service, is_set("local")).await),
        Endpoint::Members => Ok(answer::json(&group::members(service))),
        Endpoint::Evict => group::evict(service, client, &parameter).await,
        Endpoint::AddVoter => group::add(service, client, &parameter).await,
        Endpoint::Election => group::observe(service, &parameter).await,
        Endpoint::Events => Ok(group::events(service)),
        Endpoint::Metrics => Ok(operation::metrics(service)),
        Endpoint::IsAlive => Ok(operation::is_alive()),
        Endpoint::IsReady => operation::is_ready(service),
        Endpoint::OpenApi => Ok(operation::open_api()),
    }
}

fn local_only(what: &str) -> Refused {
    Refused::new(Code::LocalOnly, format!("{what} works on the Unix socket of the member alone"))
}

/// A request that says no version means the present one.
fn check_version(headers: &HeaderMap) -> Result<(), Refused> {
    let Some(asked) = headers.get(VERSION_HEADER) else { return Ok(()) };
    let number: Option<u32> = asked.to_str().ok().and_then(|it| it.parse().ok());
    if number.is_some_and(|it| SPOKEN.contains(&it)) {
        return Ok(());
    }
    let asked = String::from_utf8_lossy(asked.as_bytes()).into_owned();
    let spoken: Vec<String> = SPOKEN.iter().map(u32::to_string).collect();
    let why = format!(
        "this daemon speaks version {} of the interface ({VERSION_HEADER}: {VERSION}), not '{}'",
        spoken.join(" and "),
        asked.escape_debug()
    );
    Err(Refused::new(Code::UnknownVersion, why))
}

/// A browser that has opened a page of somebody else lets it send requests to this machine. It
/// says from where the page is, and by which name this machine was called.
fn check_origin(headers: &HeaderMap) -> Result<(), Refused> {
    let text = |name| headers.get(name).map(|it| String::from_utf8_lossy(it.as_bytes()));
    let host = text(header::HOST).unwrap_or_default();
    let is_address = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|it| it.is_ascii_digit()) { name } else { host }
        });
        let name = name.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(name);
        name == "localhost" || name.parse::<std::net::IpAddr>().is_ok()
    };
    if !is_address(&host) {
        let why = format!("'{}' is no address of this machine", host.escape_debug());
        return Err(Refused::new(Code::NotAllowed, why));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let from = origin.split_once("://").map_or("", |(_, host)| host);
        if from != host {
            let why = format!("a page of '{}' may not ask this daemon", origin.escape_debug());
            return Err(Refused::new(Code::NotAllowed, why));
        }
    }
    Ok(())
}

/// The parameters of a query: each is true or false.
fn flags<'a>(uri: &Uri, known: &[&'a str]) -> Result<BTreeMap<&'a str, bool>, Refused> {
    let bad = |why| Err(Refused::new(Code::BadRequest, why));
    let mut flags = BTreeMap::new();
    for pair in uri.query().unwrap_or_default().split('&').filter(|it| !it.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let Some(known) = known.iter().find(|it| **it == name) else {
            return bad(format!("unknown parameter '{}'", name.escape_debug()));
        };
        let value = match value {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => {
                return bad(format!(
                    "{known} is true or false, and not '{}'",
                    value.escape_debug()
                ));
            }
        };
        flags.insert(*known, value);
    }
    Ok(flags)
}

/// Reads the body of a request, which is bounded in length and in time.
async fn read<T: DeserializeOwned>(body: Incoming, within: Duration) -> Result<T, Refused> {
    let bytes = match timeout(within, Limited::new(body, LONGEST_BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(why)) if why.is::<LengthLimitError>() => {
            let why = format!("a body has at most {LONGEST_BODY} bytes");
            return Err(Refused::new(Code::TooLarge, why));
        }
        Ok(Err(why)) => return Err(Refused::new(Code::BadRequest, format!("no body: {why}"))),
        Err(_) => {
            let why = format!("the body has not arrived within {within:?}");
            return Err(Refused::new(Code::TooSlow, why));
        }
    };
    parse(&bytes)
}

fn parse<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Refused> {
    serde_json::from_slice(bytes)
        .map_err(|why| Refused::new(Code::BadRequest, format!("the body does not fit: {why}")))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn versions_that_are_not_spoken_are_refused_with_those_that_are() {
        let check = |version: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(version) = version {
                headers.insert(VERSION_HEADER, HeaderValue::from_str(version).unwrap());
            }
            check_version(&headers)
        };
        assert_eq!(check(None), Ok(()));
        assert_eq!(check(Some("1")), Ok(()));
        for version in ["0", "2", "1.0", "", "x"] {
            let refused = check(Some(version)).unwrap_err();
            assert_eq!(refused.code, Code::UnknownVersion);
            assert!(refused.why.contains("speaks version 1"), "{}", refused.why);
        }
    }

    #[test]
    fn pages_of_others_may_not_ask() {
        let check = |host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            check_origin(&headers).is_ok()
        };
        assert!(check("127.0.0.1:7480", None));
        assert!(check("127.0.0.1:7480", Some("http://127.0.0.1:7480")));
        assert!(check("[::1]:7480", Some("http://[::1]:7480")));
        assert!(check("localhost:7480", Some("http://localhost:7480")));
        assert!(!check("127.0.0.1:7480", Some("https://example.org")));
        assert!(!check("127.0.0.1:7480", Some("null")));
        // Somebody's name that leads to this machine: a browser takes both for one host.
        assert!(!check("example.org:7480", Some("http://example.org:7480")));
        assert!(!check("example.org:7480", None) && !check("", None));
    }

    #[test]
    fn parameters_are_known_and_true_or_false() {
        let read = |query: &str| {
            let uri: Uri = format!("/v1/locks{query}").parse().unwrap();
            flags(&uri, &["local"]).map(|it| it.get("local").copied())
        };
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("?local=true"), Ok(Some(true)));
        assert_eq!(read("?local"), Ok(Some(true)));
        assert_eq!(read("?local=0&"), Ok(Some(false)));
        assert!(read("?local=maybe").unwrap_err().why.contains("'maybe'"));
        assert!(read("?locale=true").unwrap_err().why.contains("'locale'"));
    }
}
