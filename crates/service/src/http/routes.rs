//! Which requests there are: a path and a method each. What `openapi.json` says of them is compared
//! with this list by a test.

use hyper::Method;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Endpoint {
    Page,
    BeginHold,
    ShowHold,
    ReleaseHold,
    RenewHold,
    HoldProcess,
    Locks,
    Members,
    Evict,
    AddVoter,
    Election,
    Events,
    Metrics,
    IsAlive,
    IsReady,
    OpenApi,
}

/// A request, with its path as the document writes it.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) endpoint: Endpoint,
}

const fn route(method: Method, path: &'static str, endpoint: Endpoint) -> Route {
    Route { method, path, endpoint }
}

pub(super) const ROUTES: [Route; 16] = [
    route(Method::GET, "/", Endpoint::Page),
    route(Method::PUT, "/v1/holds/{id}", Endpoint::BeginHold),
    route(Method::GET, "/v1/holds/{id}", Endpoint::ShowHold),
    route(Method::DELETE, "/v1/holds/{id}", Endpoint::ReleaseHold),
    route(Method::POST, "/v1/holds/{id}/renew", Endpoint::RenewHold),
    route(Method::POST, "/v1/holds/{id}/process", Endpoint::HoldProcess),
    route(Method::GET, "/v1/locks", Endpoint::Locks),
    route(Method::GET, "/v1/members", Endpoint::Members),
    route(Method::POST, "/v1/members/{name}/evict", Endpoint::Evict),
    route(Method::POST, "/v1/members/{name}/add", Endpoint::AddVoter),
    route(Method::GET, "/v1/elections/{name}", Endpoint::Election),
    route(Method::GET, "/v1/events", Endpoint::Events),
    route(Method::GET, "/v1/openapi.json", Endpoint::OpenApi),
    route(Method::GET, "/metrics", Endpoint::Metrics),
    route(Method::GET, "/healthz", Endpoint::IsAlive),
    route(Method::GET, "/readyz", Endpoint::IsReady),
];

/// What a path and a method come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// This, with what stands in the path where the route has a parameter.
    Endpoint(Endpoint, String),
    /// There is something, for other methods: these.
    OtherMethods(Vec<&'static str>),
    /// There is nothing.
    Nothing,
    /// A parameter is not encoded as it should be.
    Encoding(String),
}

/// Finds the route of a request.
pub(super) fn find(method: &Method, path: &str) -> Found {
    let mut others = Vec::new();
    for route in &ROUTES {
        let Some(parameter) = parameter(route.path, path) else { continue };
        if route.method != *method {
            others.push(method_name(route));
            continue;
        }
        return match decoded(parameter) {
            Some(parameter) => Found::Endpoint(route.endpoint, parameter),
            None => Found::Encoding(parameter.to_owned()),
        };
    }
    if others.is_empty() { Found::Nothing } else { Found::OtherMethods(others) }
}

fn method_name(route: &Route) -> &'static str {
    match route.method {
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        _ => "GET",
    }
}

/// What stands in a path where the route has its parameter, if it has one; none if it is not the
/// path of that route.
fn parameter<'a>(route: &str, path: &'a str) -> Option<&'a str> {
    let (mut ours, mut theirs) = (route.split('/'), path.split('/'));
    let mut found = "";
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return Some(found),
            (Some(wanted), Some(given)) if wanted.starts_with('{') => found = given,
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

/// Without the encoding of paths and queries.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = digits.map(|it| char::from(it).to_digit(16));
            bytes.push((digits[0]? * 16 + digits[1]?) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_method_lead_to_one_endpoint() {
        let found = |method: Method, path: &str| find(&method, path);
        let endpoint = |endpoint, text: &str| Found::Endpoint(endpoint, text.to_owned());
        assert_eq!(found(Method::GET, "/"), endpoint(Endpoint::Page, ""));
        assert_eq!(found(Method::PUT, "/v1/holds/x"), endpoint(Endpoint::BeginHold, "x"));
        assert_eq!(found(Method::POST, "/v1/holds/x/renew"), endpoint(Endpoint::RenewHold, "x"));
        let name = endpoint(Endpoint::Election, "a/ä");
        assert_eq!(found(Method::GET, "/v1/elections/a%2F%C3%A4"), name);
        assert_eq!(
            found(Method::POST, "/v1/holds/x"),
            Found::OtherMethods(vec!["PUT", "GET", "DELETE"])
        );
        for path in ["/v1", "/v1/holds", "/v1/holds/a/b", "/v2/members", "", "/v1/members/"] {
            assert_eq!(found(Method::GET, path), Found::Nothing, "{path}");
        }
        for path in
            ["/v1/elections/%", "/v1/elections/%4", "/v1/elections/%zz", "/v1/elections/%ff"]
        {
            assert!(matches!(found(Method::GET, path), Found::Encoding(_)), "{path}");
        }
    }
}
