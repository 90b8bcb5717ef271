//! The states of nodes for people: a table, and what an event has changed.

pub use vorrang_draw::state_table::{Cell, Piece, PieceKind, StateTable};
use vorrang_protocol::{NodeState, StateValue};

/// What an event has changed is said as it was and as it is, if that is no longer than this.
const BOTH: usize = 40;
/// The changes of a vector are said one by one, up to so many.
const FEW: usize = 2;

/// A node, its state and the state before, if what has changed is to be marked.
pub type Shown<'a> = (String, &'a NodeState, Option<&'a NodeState>);

/// The table of these nodes.
pub fn table(nodes: &[Shown<'_>]) -> StateTable {
    let mut names: Vec<&str> = Vec::new();
    for (_, state, _) in nodes {
        let mut after = 0;
        for (name, _) in state.iter() {
            let known = names.iter().position(|known| *known == name);
            let place = known.unwrap_or(after);
            if known.is_none() {
                names.insert(place, name);
            }
            after = place + 1;
        }
    }
    let mut rows: Vec<(String, Vec<Cell>)> =
        nodes.iter().map(|(node, ..)| (node.clone(), Vec::new())).collect();
    for name in &names {
        let wide = element_width(nodes, name);
        for ((_, cells), (_, state, before)) in rows.iter_mut().zip(nodes) {
            let value = state.get(name);
            let text = value.map_or_else(String::new, |value| aligned(value, wide));
            cells.push(Cell { text, is_new: before.is_some_and(|it| it.get(name) != value) });
        }
    }
    StateTable { names: names.into_iter().map(str::to_owned).collect(), rows }
}

/// How wide the widest element of the vectors of this name is: those of all nodes, one below the
/// other, are a matrix.
fn element_width(nodes: &[Shown<'_>], name: &str) -> usize {
    let vectors = nodes.iter().filter_map(|(_, state, _)| match state.get(name) {
        Some(StateValue::Vector(values)) => Some(values),
        Some(_) | None => None,
    });
    vectors.flatten().map(|value| value.to_string().chars().count()).max().unwrap_or(0)
}

fn aligned(value: &StateValue, wide: usize) -> String {
    match value {
        StateValue::Vector(values) => {
            let values = values.iter().map(|value| format!("{:>wide$}", value.to_string()));
            values.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// What has changed, in short: `H 0→1, RN[2] 3→4`.
pub fn changes(before: &NodeState, after: &NodeState) -> String {
    let gone = before.iter().filter(|(name, _)| after.get(name).is_none());
    let gone = gone.map(|(name, was)| change(name, was, &StateValue::Nothing));
    let other = after.iter().filter_map(|(name, value)| {
        let was = before.get(name).unwrap_or(&StateValue::Nothing);
        (was != value).then(|| change(name, was, value))
    });
    other.chain(gone).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}

fn change(name: &str, was: &StateValue, value: &StateValue) -> String {
    if let (StateValue::Vector(old), StateValue::Vector(new)) = (was, value)
        && old.len() == new.len()
    {
        let places = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
        let places: Vec<_> =
            places.map(|(place, (old, new))| format!("{name}[{place}] {old}→{new}")).collect();
        if places.len() <= FEW {
            return places.join(", ");
        }
    }
    let (was, value) = (was.to_string(), value.to_string());
    if was == value {
        return String::new();
    }
    if was.chars().count() + value.chars().count() <= BOTH {
        // Between dashes or several words, an arrow without space is hard to see.
        let is_plain = |text: &str| text != "–" && !text.contains(' ');
        let arrow = if is_plain(&was) && is_plain(&value) { "→" } else { " → " };
        format!("{name} {was}{arrow}{value}")
    } else {
        format!("{name} {value}")
    }
}

#[cfg(test)]
mod tests {
    use vorrang_protocol::NodeId;

    use super::*;

    fn state(numbers: [u64; 3], holder: Option<u32>) -> NodeState {
        NodeState::new().with("RN", StateValue::vector(numbers)).with("holder", holder.map(NodeId))
    }

    #[test]
    fn only_what_changed_is_said() {
        let before = state([0, 0, 0], Some(2));
        assert_eq!(changes(&before, &before), "");
        assert_eq!(changes(&before, &state([0, 0, 1], Some(2))), "RN[2] 0→1");
        assert_eq!(changes(&before, &state([1, 2, 3], None)), "RN 0 0 0 → 1 2 3, holder 2 → –");
        let queue = StateValue::list(0..50_u64);
        let after = NodeState::new().with("holder", NodeId(1)).with("queue", queue.clone());
        assert_eq!(changes(&before, &after), format!("holder 2→1, queue {queue}, RN 0 0 0 → –"));
    }

    #[test]
    fn vectors_of_all_nodes_are_a_matrix_and_what_is_new_is_marked() {
        let (old, one, other) =
            (state([1, 0, 0], None), state([1, 10, 0], None), state([0; 3], None));
        let extra = other.clone().with("Q", StateValue::list([NodeId(1)]));
        let table = table(&[("node 0".into(), &one, Some(&old)), ("node 1".into(), &extra, None)]);
        assert_eq!(table.names, ["RN", "holder", "Q"]);
        let cells = |row: usize| table.rows[row].1.iter().map(|it| &*it.text).collect::<Vec<_>>();
        assert_eq!(cells(0), [" 1 10  0", "–", ""]);
        assert_eq!(cells(1), [" 0  0  0", "–", "1"]);
        let new: Vec<bool> = table.rows[0].1.iter().map(|it| it.is_new).collect();
        assert_eq!(new, [true, false, false]);
    }
}
