//! What those ask who operate the daemon: metrics, whether it is alive and ready, and what can be
//! asked at all.

use std::time::UNIX_EPOCH;

use vorrang_lock::tls::Certificate;

use super::Service;
use super::answer::{self, Answer};
use crate::api::{Code, MemberState};
use crate::holds::Refused;
use crate::http::group;
use crate::metrics::Now;

pub(super) fn metrics(service: &Service) -> Answer {
    let members = group::members(service);
    let of = |state| members.members.iter().filter(|it| it.state == state).count();
    let counted = service.holds.count();
    let suspected = of(MemberState::Suspected);
    let now = Now {
        group: service.about.group.clone(),
        member: service.about.member.clone(),
        algorithm: service.about.algorithm.clone(),
        view: members.view,
        members: of(MemberState::Member) + suspected,
        suspected,
        majority: members.majority,
        held: counted.held,
        waiting: counted.waiting,
        lease_left: counted.left,
        certificate_expires: service.others.keys().map(|it| expiry(&it.certificate())),
        started: service.about.started,
    };
    answer::text("text/plain; version=0.0.4; charset=utf-8", service.metrics.text(&now))
}

fn expiry(certificate: &Certificate) -> u64 {
    certificate.not_after.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

/// The process lives: it answers.
pub(super) fn is_alive() -> Answer {
    answer::text("text/plain; charset=utf-8", "alive\n")
}

/// Whether it can grant something.
pub(super) fn is_ready(service: &Service) -> Result<Answer, Refused> {
    let members = group::members(service);
    if service.holds.is_leaving() {
        return Err(Refused::new(Code::Leaving, "this member leaves the group"));
    }
    if members.majority {
        return Ok(answer::text("text/plain; charset=utf-8", "ready\n"));
    }
    let why = members.trouble.unwrap_or_else(|| "this member belongs to no view yet".to_owned());
    Err(Refused::new(Code::Unavailable, why))
}

/// What can be asked, for programs.
pub(super) fn open_api() -> Answer {
    answer::text("application/json", OPEN_API)
}

pub(super) const OPEN_API: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::Serialize;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::{
        ElectionEvent, Event, Evicted, Hold, HoldEvent, HoldProcess, HoldRequest, HoldState, Kind,
        Locks, LossReason, Member, Members, Refusal, Renewal, Unreached,
    };
    use crate::http::routes::ROUTES;

    fn document() -> Value {
        serde_json::from_str(OPEN_API).expect("the document is JSON")
    }

    #[test]
    fn the_document_has_the_routes_and_no_others() {
        let document = document();
        let paths = document["paths"].as_object().expect("paths");
        let documented: BTreeSet<String> = paths
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("methods");
                methods.keys().map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .collect();
        let served: BTreeSet<String> =
            ROUTES.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
        assert_eq!(documented, served);
        // A parameter of a path is described, and nothing else is.
        for (path, methods) in paths {
            for operation in methods.as_object().expect("methods").values() {
                let described = operation["parameters"].as_array().into_iter().flatten();
                let described: Vec<&str> = described
                    .filter(|it| it["in"] == "path")
                    .filter_map(|it| it["name"].as_str())
                    .collect();
                let wanted: Vec<&str> = path
                    .split('/')
                    .filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'))
                    .collect();
                assert_eq!(described, wanted, "{path}");
            }
        }
    }

    /// What a value has that its description lacks, or the other way round.
    fn compare(name: &str, schema: &Value, value: &Value, whole: &Value) {
        if let Some(of) = schema["$ref"].as_str() {
            let of = of.rsplit('/').next().expect("a name");
            return compare(of, &whole["components"]["schemas"][of], value, whole);
        }
        if let Some(all) = schema["allOf"].as_array() {
            let known: BTreeSet<String> = all.iter().flat_map(|it| properties(it, whole)).collect();
            for key in value.as_object().expect("an object").keys() {
                assert!(known.contains(key), "{name} lacks {key}");
            }
            return;
        }
        if let Some(choices) = schema["oneOf"].as_array() {
            let tag = &value["event"];
            let is_it = |it: &&Value| {
                let first = it["allOf"].get(0).unwrap_or(it);
                first["properties"]["event"]["const"] == *tag
            };
            let fitting = choices.iter().find(is_it);
            let fitting = fitting.or_else(|| choices.iter().find(|it| it["$ref"].is_string()));
            let fitting = fitting.unwrap_or_else(|| panic!("{name} knows no {tag}"));
            return compare(name, fitting, value, whole);
        }
        let Some(value) = value.as_object() else { return };
        let known = schema["properties"].as_object().expect("properties");
        for (key, inner) in value {
            let described = known.get(key).unwrap_or_else(|| panic!("{name} lacks {key}"));
            if let Some(choices) = described["enum"].as_array() {
                assert!(choices.contains(inner), "{name}.{key} knows no {inner}");
            }
            let of_list = inner.as_array().and_then(|list| list.first());
            if let Some(first) = of_list {
                compare(key, &described["items"], first, whole);
            } else if inner.is_object() {
                compare(key, described, inner, whole);
            }
        }
        for needed in schema["required"].as_array().into_iter().flatten() {
            let needed = needed.as_str().expect("a name");
            assert!(value.contains_key(needed), "{name} need not have {needed}");
        }
        let left_out: Vec<&String> = known.keys().filter(|it| !value.contains_key(*it)).collect();
        assert!(left_out.is_empty(), "{name} has no {left_out:?}");
    }

    fn properties(schema: &Value, whole: &Value) -> Vec<String> {
        if let Some(of) = schema["$ref"].as_str() {
            let of = of.rsplit('/').next().expect("a name");
            return properties(&whole["components"]["schemas"][of], whole);
        }
        schema["properties"].as_object().into_iter().flat_map(|it| it.keys().cloned()).collect()
    }

    fn check(name: &str, value: impl Serialize) {
        let whole = document();
        let schema = &whole["components"]["schemas"][name];
        assert!(schema.is_object(), "{name} is not described");
        compare(name, schema, &serde_json::to_value(value).expect("JSON"), &whole);
    }

    fn hold() -> Hold {
        Hold {
            member: "a".to_owned(),
            id: "1".to_owned(),
            kind: Kind::Semaphore,
            name: "n".to_owned(),
            permits: Some(1),
            value: Some("v".to_owned()),
            state: HoldState::AtRisk,
            since: 1,
            token: Some("0".repeat(32)),
            label: Some("l".to_owned()),
            client: "uid 1".to_owned(),
            ended: Some(HoldEvent::Released),
        }
    }

    fn group() -> Members {
        let some = || Some("x".to_owned());
        Members {
            group: "g".to_owned(),
            this: "a".to_owned(),
            algorithm: "x".to_owned(),
            view: Some(1),
            majority: true,
            trouble: some(),
            evicted: Some(Evicted { at: 1, why: "w".to_owned() }),
            members: vec![Member {
                name: "a".to_owned(),
                address: some(),
                http: some(),
                state: MemberState::Suspected,
                voter: true,
                vote_lost: true,
                trouble: some(),
            }],
        }
    }

    #[test]
    fn what_is_sent_is_described_as_it_is() {
        check(
            "HoldRequest",
            HoldRequest {
                kind: Kind::Shared,
                name: "n".to_owned(),
                permits: Some(1),
                value: Some("v".to_owned()),
                within_ms: Some(1),
                label: Some("l".to_owned()),
            },
        );
        let deadline_boottime_ns = Some(1);
        let (view, number) = (1, 2);
        let (token, lease_ms) = (String::new(), Some(1));
        let mut events = vec![
            HoldEvent::Waiting { since: 1 },
            HoldEvent::Granted { token, view, number, lease_ms, deadline_boottime_ns },
            HoldEvent::Alive { deadline_boottime_ns },
            HoldEvent::AtRisk { deadline_boottime_ns },
            HoldEvent::Safe,
            HoldEvent::Timeout,
            HoldEvent::Released,
        ];
        let sentence = String::new;
        let losses = LossReason::ALL.map(|why| HoldEvent::Lost { why, sentence: sentence() });
        events.extend(losses);
        events.extend(Code::ALL.map(|code| HoldEvent::Refused { why: sentence(), code }));
        for event in events {
            check("HoldEvent", event);
        }
        check("Renewal", Renewal { state: HoldState::Held, left_ms: Some(1), within_ms: 1 });
        check("HoldProcess", HoldProcess { pgid: Some(7) });
        check("Hold", hold());
        let unreached = vec![Unreached { member: "b".to_owned(), why: "w".to_owned() }];
        check("Locks", Locks { holds: vec![hold()], unreached });
        check("Members", group());
        let (value, member, token) = (String::new(), String::new(), String::new());
        check("ElectionEvent", ElectionEvent::Leader { value, member, token });
        check("ElectionEvent", ElectionEvent::Nobody);
        check("ElectionEvent", ElectionEvent::Alive);
        check("Event", Event::Members(group()));
        check("Event", Event::Hold(hold()));
        check("Event", Event::Missed { events: 1 });
        for code in Code::ALL {
            check("Refusal", Refusal { error: String::new(), code });
        }
    }

    #[test]
    #[should_panic(expected = "Hold lacks more")]
    fn a_value_that_is_described_otherwise_is_found() {
        let mut value = serde_json::to_value(hold()).expect("JSON");
        value["more"] = json!(1);
        check("Hold", value);
    }
}
