//! What processes have recorded, as their parent reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use vorrang_algorithms::mutex::Mutex;
use vorrang_catalogue::NodeOf;
use vorrang_erased::AnyTimer;
use vorrang_protocol::NodeSet;
use vorrang_trace::{Line, Record, What};

use super::super::kills::Recorded;
use super::super::kills::in_order_by;
use crate::failure::Failure;

/// The records of all nodes in the order of their times, read by one of their kind.
pub(super) fn in_order(
    node: &NodeOf<Mutex>,
    recorded: Recorded,
) -> Result<Vec<Record<NodeOf<Mutex>>>, Failure> {
    let mut known = BTreeMap::new();
    let read = |line: &Line| match &line.what {
        What::Timer(written) if node.timer(written).is_none() => {
            let timer = known.entry(written.to_string()).or_insert_with_key(|text| {
                // There are as many as an algorithm has, in every view.
                AnyTimer::new(WrittenTimer(Box::leak(text.clone().into_boxed_str())))
            });
            Ok(Record { at_ns: line.at_ns, node: line.node, what: What::Timer(*timer) })
        }
        _ => Record::read_by(node, line),
    };
    in_order_by(read, recorded).map(with_restarts)
}

/// A timer of an algorithm inside a view as it was written: only what has set it knows its type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct WrittenTimer(&'static str);

impl Serialize for WrittenTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: Value = serde_json::from_str(self.0).expect("it was read as JSON");
        value.serialize(serializer)
    }
}

/// Nobody does so.
impl<'de> Deserialize<'de> for WrittenTimer {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("a timer that was written is not read once more"))
    }
}

/// A process that has forgotten everything does not know that it was started again: it was, if
/// anything more is recorded of its node.
fn with_restarts(records: Vec<Record<NodeOf<Mutex>>>) -> Vec<Record<NodeOf<Mutex>>> {
    let (mut down, mut all) = (NodeSet::EMPTY, Vec::with_capacity(records.len()));
    for record in records {
        let (at_ns, node) = (record.at_ns, record.node);
        match record.what {
            What::Crash => {
                down.insert(node);
            }
            What::Restart => {
                down.remove(node);
            }
            _ if down.contains(node) => {
                down.remove(node);
                all.push(Record { at_ns, node, what: What::Restart });
            }
            _ => {}
        }
        all.push(record);
    }
    all
}

#[cfg(test)]
mod tests {
    use vorrang_algorithms::setup::Setup;
    use vorrang_catalogue::on_views::LockBetweenProcesses;
    use vorrang_protocol::{Group, NodeId};

    use super::*;
    use crate::problem::mutex::on_views::in_every_view;

    #[test]
    fn who_says_something_after_it_was_killed_was_started_again_and_any_timer_is_kept() {
        let entry = vorrang_catalogue::find::<Mutex>("token-ring", None).unwrap();
        let setup = Setup::new(Group::of(2));
        let lock = LockBetweenProcesses::new(in_every_view(entry, &setup).unwrap(), None);
        let node = lock.without_memory(NodeId(0), &setup, (1, None));
        let lines = [
            r#"[5,1,"timer",{"heartbeat":"Beat"}]"#,
            r#"[9,0,"timer",{"above":{"lock":[7,{"Rest":0}]}}]"#,
            r#"[20,0,"notice","evicted"]"#,
            r#"[21,0,"notice","evicted"]"#,
        ];
        let lines = lines.map(str::to_owned).to_vec();
        let recorded = Recorded { lines, killed: vec![(NodeId(0), 12), (NodeId(1), 6)] };
        let records = in_order(&node, recorded).unwrap();
        let told: Vec<(u64, u32, String)> = records
            .iter()
            .map(|it| (it.at_ns, it.node.0, it.line().split(',').nth(2).unwrap().to_owned()))
            .collect();
        let told: Vec<(u64, u32, &str)> =
            told.iter().map(|it| (it.0, it.1, it.2.trim_matches(['"', ']']))).collect();
        assert_eq!(
            told,
            [
                (5, 1, "timer"),
                (6, 1, "crash"),
                (9, 0, "timer"),
                (12, 0, "crash"),
                (20, 0, "restart"),
                (20, 0, "notice"),
                (21, 0, "notice"),
            ]
        );
        assert!(records[2].line().contains(r#"{"above":{"lock":[7,{"Rest":0}]}}"#));
    }
}
