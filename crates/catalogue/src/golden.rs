//! Small runs of every algorithm that read as prose: a set-up, then a script with its answers.

/// The texts of files, by their names.
macro_rules! runs {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../tests/golden/", $name, ".run"))),)*]
    };
}

/// Every golden run by its name, in alphabetical order.
pub const RUNS: &[(&str, &str)] = runs![
    "ack",
    "ack_restart",
    "bully",
    "bully_divided",
    "bully_forgotten",
    "bully_restart",
    "bus_reset",
    "cao_singhal",
    "cao_singhal_fallback",
    "cao_singhal_thirteen",
    "carvalho_roucairol",
    "carvalho_roucairol_re_request",
    "central",
    "central_overtaking",
    "chang_roberts",
    "dijkstra_scholten",
    "echo",
    "echo_deep",
    "echo_election",
    "echo_lift",
    "echo_taboo",
    "echo_taboo_swallowed",
    "elected_lift",
    "group_exclusion",
    "heartbeat",
    "k_exclusion",
    "lamport",
    "lift",
    "maekawa",
    "maekawa_basic",
    "maekawa_basic_thirteen",
    "maekawa_fallback",
    "maekawa_thirteen",
    "majority_votes",
    "majority_votes_timely",
    "nack",
    "nack_gone",
    "raymond",
    "readers_writers",
    "regenerating_raymond",
    "regenerating_ring",
    "regenerating_suzuki_kasami",
    "reliable",
    "resource_sets",
    "ricart_agrawala",
    "ricart_agrawala_probing",
    "ring_election",
    "ring_election_repeated",
    "sanders",
    "singhal",
    "singhal_thirteen",
    "singhal_together",
    "srm",
    "srm_near",
    "suzuki_kasami",
    "suzuki_kasami_four",
    "token_ring",
    "token_ring_overtaking",
    "token_ring_priorities",
    "token_ring_two_resources",
    "total_order",
    "total_order_skeen",
    "tree_election",
    "tree_election_at_once",
    "tree_election_gather",
    "view_leader",
    "virtual_synchrony",
    "watching_bully",
    "watching_ring",
];

/// The text of the run of that name, which may be written with hyphens.
pub fn find(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_");
    RUNS.iter().find(|(of, _)| *of == name).map(|(_, text)| *text)
}

/// What the run of that text is about, as its first remark says.
pub fn about(text: &str) -> String {
    let mut lines = text.lines().skip(1);
    let first = lines.next().unwrap_or_default();
    let Some(remark) = first.strip_prefix("# ") else {
        return first.split_once("# ").map_or("", |(_, remark)| remark).to_owned();
    };
    let rest = lines.map_while(|line| line.strip_prefix("# "));
    let whole = [remark].into_iter().chain(rest).collect::<Vec<_>>().join(" ");
    // The first sentence; one that ends with a colon goes on.
    whole
        .split_once(". ")
        .map_or(&*whole, |(sentence, _)| sentence)
        .trim_end_matches('.')
        .to_owned()
}
