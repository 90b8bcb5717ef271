//! How a node is: for people, and for programs.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use vorrang_algorithms::mutex::FencingToken;
use vorrang_experiment::state_table::table;
use vorrang_net::{LinkState, LinkStatus, Stage, Status};

use crate::terminal::{harmless, screen, wrapped};

/// Why a node never started, if a peer refused it, or it refused a peer that it needed.
pub(super) fn kept_out(status: &Status) -> Option<String> {
    let refused = |link: &LinkStatus| match &link.state {
        LinkState::Refused(why) => Some(format!("node {}: {why}", link.peer)),
        LinkState::Connected(_) | LinkState::Connecting(_) | LinkState::Gone(_) => None,
    };
    let of_links = || status.links.iter().find_map(refused).filter(|_| !status.started);
    status.fenced.clone().or_else(of_links)
}

/// For people, no wider than the screen.
pub(super) fn in_words(status: &Status, algorithm: &str) -> String {
    let nodes = status.links.len() + 1;
    let mut text = format!("node {} of {nodes}, running {algorithm}\n", status.id);
    let mut add = |line: &str| text.push_str(&format!("  {}\n", harmless(line)));
    match (&status.fenced, status.started, status.turn) {
        (Some(why), _, _) => add(&format!("must not act: {why}")),
        (None, false, _) => add("waits to meet all others"),
        (None, true, Some((stage, since))) => add(&turn(stage, since)),
        (None, true, None) => follows(status).iter().for_each(|it| add(it)),
    }
    status.group.iter().for_each(|it| add(&it.to_string()));
    if let Some(trouble) = trouble(status) {
        add(&trouble);
    }
    status.links.iter().for_each(|it| add(&link(it)));
    wrapped(&text).trim_end().to_owned()
}

/// Which node it follows, where its machine knows.
fn follows(status: &Status) -> Vec<String> {
    let known = |name| status.machine.get(name).map(|value| format!("{name}: {value}"));
    ["coordinator", "leader"].into_iter().filter_map(known).collect()
}

/// Why the group cannot go on, or does not begin, if it is so.
fn trouble(status: &Status) -> Option<String> {
    let group = status.group.as_ref()?;
    if group.view > 0 {
        return status.trouble.clone();
    }
    let is_away = |link: &&LinkStatus| !matches!(link.state, LinkState::Connected(_));
    let away = status.links.iter().filter(is_away).map(|link| link.peer.to_string());
    let away: Vec<String> = away.collect();
    let not_here = if away.is_empty() {
        String::new()
    } else {
        format!(" (not connected: {})", away.join(", "))
    };
    Some(format!(
        "no view yet: a group begins when all of its founders are up, and whoever joins waits for \
         the next view{not_here}"
    ))
}

fn turn(stage: Stage, since: Duration) -> String {
    let since = since.as_secs_f64();
    match stage {
        Stage::Idle => {
            "neither inside nor waiting; whether another node is inside is not known here"
                .to_owned()
        }
        Stage::Waiting => format!(
            "waiting to enter, for {since:.1} s: another node is inside, or asked first, or does \
             not answer"
        ),
        Stage::GivenUp => format!(
            "has withdrawn its request, {since:.1} s ago; it is released as soon as it is granted"
        ),
        Stage::Inside => format!("inside, for {since:.1} s"),
    }
}

fn link(link: &LinkStatus) -> String {
    let mut text = format!("node {} at {}: {}", link.peer, link.address, link.state);
    if let Some(trouble) = &link.trouble {
        let calls = if link.unanswered == 1 { "call" } else { "calls" };
        text.push_str(&format!(" ({trouble}, {} {calls})", link.unanswered));
    }
    let messages = |many: u64| if many == 1 { "message" } else { "messages" };
    let waiting = link.unacknowledged as u64;
    if waiting > 0 {
        text.push_str(&format!(", {waiting} {} not acknowledged", messages(waiting)));
    }
    if link.dropped > 0 {
        text.push_str(&format!(", {} {} lost with it", link.dropped, messages(link.dropped)));
    }
    text
}

/// The variables of the machine, a line each.
pub(super) fn state(status: &Status) -> String {
    let width = screen().unwrap_or(usize::MAX);
    let name = format!("node {}", status.id);
    let table = table(&[(name, &status.machine, None)]);
    table.text(width, &|_, text| harmless(text)).trim_end().to_owned()
}

/// For programs, in one line.
pub(super) fn in_json(status: &Status, algorithm: &str) -> String {
    let by_kind = |counts: &[(&'static str, u64)]| -> Value {
        let counts = counts.iter().map(|&(kind, count)| (kind.to_owned(), json!(count)));
        Value::Object(counts.collect::<Map<_, _>>())
    };
    let (stage, since) = status.turn.unzip();
    let value = json!({
        "node": status.id,
        "nodes": status.links.len() + 1,
        "algorithm": algorithm,
        "started": status.started,
        "fenced": status.fenced,
        "turn": stage,
        "turn_seconds": since.map(|since| since.as_secs_f64()),
        "group": status.group,
        "links": status.links.iter().map(link_in_json).collect::<Vec<_>>(),
        "sent": by_kind(&status.sent),
        "received": by_kind(&status.received),
        "state": status.machine,
    });
    value.to_string()
}

/// For programs, of a node on views, in one line: the fields are documented, and as few as programs
/// need. Times are seconds since 1970, by this machine's clock.
pub(super) fn on_views_in_json(
    status: &Status,
    algorithm: &str,
    token: Option<FencingToken>,
) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = |time: Duration| time.as_millis() as f64 / 1000.0;
    let ago = |since: Duration| seconds(now.saturating_sub(since));
    let (group, health) = (status.group.as_ref(), status.health.as_ref());
    let is_member = status.fenced.is_none() && group.is_some_and(|group| group.is_in);
    let (stage, since) = status.turn.unzip();
    let since_if = |wanted: Stage| since.filter(|_| stage == Some(wanted)).map(ago);
    let is_inside = stage == Some(Stage::Inside);
    let eviction = status.eviction.map(
        |(since, why)| json!({ "at": ago(since), "reason": why.name(), "why": why.to_string() }),
    );
    let value = json!({
        "id": status.id,
        "algorithm": algorithm,
        "view": group.map_or(0, |group| group.view),
        "is_member": is_member,
        "members": group.map(|group| &group.members),
        "suspected": health.map(|health| &health.suspected),
        "lost": health.map(|health| &health.lost),
        "majority": is_member && health.is_some_and(|health| health.has_majority),
        "trouble": status.fenced.clone().or_else(|| trouble(status)),
        "holding": is_inside,
        "holding_since": since_if(Stage::Inside),
        "waiting_since": since_if(Stage::Waiting),
        "token": token.filter(|_| is_inside).map(|FencingToken { view, clock }| [view, clock]),
        "lease_until": status.lease_left.map(|left| seconds(now + left)),
        "last_eviction": eviction,
    });
    value.to_string()
}

fn link_in_json(link: &LinkStatus) -> Value {
    let seconds = |since: &Duration| Some(since.as_secs_f64());
    let (state, seconds, why) = match &link.state {
        LinkState::Connected(since) => ("connected", seconds(since), None),
        LinkState::Connecting(since) => ("connecting", seconds(since), None),
        LinkState::Refused(why) => ("refused", None, Some(why)),
        LinkState::Gone(why) => ("gone", None, Some(why)),
    };
    json!({
        "peer": link.peer,
        "address": link.address,
        "state": state,
        "seconds": seconds,
        "why": why,
        "connections": link.connections,
        "unacknowledged": link.unacknowledged,
        "unacknowledged_bytes": link.unacknowledged_bytes,
        "sent": link.sent,
        "received": link.received,
        "dropped": link.dropped,
        "unanswered": link.unanswered,
        "trouble": link.trouble,
    })
}

#[cfg(test)]
mod tests {
    use vorrang_net::Eviction;
    use vorrang_protocol::{GroupHealth, GroupView, NodeId, NodeSet, NodeState};

    use super::*;

    fn status() -> Status {
        let all = |from: u32| (from..64).map(NodeId).collect::<NodeSet>();
        let members = all(0);
        let lives = Vec::new();
        let group = GroupView { view: u64::MAX >> 8, founded: 1, is_in: true, members, lives };
        let health = GroupHealth {
            suspected: all(2),
            apart: NodeSet::EMPTY,
            lost: all(2),
            has_majority: false,
            may_recover: false,
            is_stable: false,
            voters: all(0),
        };
        Status {
            id: NodeId(63),
            started: true,
            fenced: None,
            eviction: Some((Duration::from_secs(1), Eviction::Replaced { by: NodeId(63) })),
            turn: Some((Stage::Inside, Duration::from_secs(1))),
            trouble: health.trouble(&group),
            group: Some(group),
            health: Some(health),
            lease_left: Some(Duration::from_secs(1)),
            links: Vec::new(),
            datagrams: None,
            sent: Vec::new(),
            received: Vec::new(),
            owes: false,
            awaits_timer: false,
            machine: NodeState::new(),
        }
    }

    /// All 64 places taken, and as much to say as there can be.
    #[test]
    fn what_programs_are_told_of_a_node_on_views_is_short_and_has_all_fields() {
        let token = FencingToken { view: u64::MAX >> 8, clock: u64::MAX >> 8 };
        let text = on_views_in_json(&status(), "regenerating-suzuki-kasami", Some(token));
        assert!(text.len() < 2048, "{} bytes: {text}", text.len());
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        // Their order is that of the words or of the letters: that depends on who else is built.
        let mut fields: Vec<&str> =
            value.as_object().expect("fields").keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "algorithm",
                "holding",
                "holding_since",
                "id",
                "is_member",
                "last_eviction",
                "lease_until",
                "lost",
                "majority",
                "members",
                "suspected",
                "token",
                "trouble",
                "view",
                "waiting_since",
            ]
        );
        assert_eq!(value["last_eviction"]["reason"], "replaced");
        assert_eq!(value["majority"], false);
    }
}
