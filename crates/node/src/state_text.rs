//! The states of nodes as text.

use vorrang_experiment::state_table::{PieceKind, StateTable};

use crate::terminal::{BOLD, GOOD, RESET};

/// The table, no wider than so many characters. What has just changed has a star before it, and a
/// colour where there are colours.
pub fn text(table: &StateTable, width: usize) -> String {
    table.text(width, &|kind, text| match kind {
        PieceKind::Name => format!("{BOLD}{text}{RESET}"),
        PieceKind::Value => text.to_owned(),
        PieceKind::NewValue => format!("{GOOD}{text}{RESET}"),
    })
}

#[cfg(test)]
mod tests {
    use vorrang_experiment::state_table::table;
    use vorrang_protocol::{NodeId, NodeState, StateValue};

    use super::*;

    #[test]
    fn what_has_changed_has_a_star() {
        let state = |number: u64, holder| {
            let numbers = StateValue::vector([number, 0, 2]);
            NodeState::new().with("RN", numbers).with("holder", NodeId(holder))
        };
        let (before, now, other) = (state(0, 1), state(1, 1), state(0, 0));
        let nodes =
            [("node 0".to_owned(), &now, Some(&before)), ("node 1".to_owned(), &other, None)];
        let shown = text(&table(&nodes), 80);
        assert_eq!(
            anstream::adapter::strip_str(&shown).to_string(),
            "        RN     holder\nnode 0 *1 0 2  1\nnode 1  0 0 2  0\n"
        );
        assert!(shown.contains(&format!("*{GOOD}1 0 2{RESET}")), "{shown:?}");
    }
}
