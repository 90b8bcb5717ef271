//! The holder at the time of a fault.

use vorrang_protocol::NodeId;
use vorrang_trace::What;

use super::{Activity, Observation, doing};
use crate::values::roundest;

/// The node that is inside at a time of a run, or else the first to enter after it, and a moment at
/// which it is: that time, or a round one of its stay.
pub(crate) fn holder_at(seen: &[Observation], at_ns: u64) -> Option<(NodeId, u64)> {
    let mut inside: Vec<(NodeId, u64)> = Vec::new();
    for it in seen {
        // With a crash, its activity is over.
        let ends = matches!(it.what, What::Crash).then_some(Activity::Rests);
        let Some(doing) = doing(it).or(ends) else { continue };
        let place = inside.iter().position(|&(node, _)| node == it.node);
        match (doing, place) {
            (Activity::IsInside, None) => inside.push((it.node, it.at_ns)),
            (Activity::IsInside, Some(_)) | (_, None) => {}
            (_, Some(place)) => {
                let (node, since_ns) = inside.remove(place);
                let first_ns = at_ns.max(since_ns.saturating_add(1));
                if first_ns <= it.at_ns && it.at_ns > at_ns {
                    let now_ns =
                        if since_ns < at_ns { at_ns } else { roundest(first_ns, it.at_ns) };
                    return Some((node, now_ns));
                }
            }
        }
    }
    // These do not report when they leave.
    let last = inside.into_iter().next();
    last.map(|(node, since_ns)| (node, at_ns.max(since_ns.saturating_add(1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Said;

    fn said(at_ns: u64, node: u32, doing: Activity) -> Observation {
        let what = What::Notice(Said { text: String::new(), doing: Some(doing) });
        Observation { at_ns, node: NodeId(node), what }
    }

    #[test]
    fn whoever_is_inside_then_or_next_is_the_holder() {
        let run = [
            said(0, 1, Activity::Waits),
            said(10, 1, Activity::IsInside),
            said(20, 1, Activity::Rests),
            said(20, 2, Activity::Waits),
            said(35, 2, Activity::IsInside),
            said(47, 2, Activity::Rests),
            said(50, 0, Activity::IsInside),
        ];
        let at = |ns| holder_at(&run, ns).map(|(node, ns)| (node.0, ns));
        assert_eq!(at(15), Some((1, 15)));
        assert_eq!(at(20), Some((2, 40)), "it has just left");
        assert_eq!(at(10), Some((1, 20)), "it has just entered");
        assert_eq!(at(46), Some((2, 46)));
        assert_eq!(at(48), Some((0, 51)), "it stays");
        assert_eq!(holder_at(&run[..2], 5), Some((NodeId(1), 11)));
        assert_eq!(holder_at(&run[..1], 5), None);
        assert_eq!(holder_at(&run[..3], 30), None);
        let crash = Observation { at_ns: 15, node: NodeId(1), what: What::Crash };
        let struck = [run[1].clone(), crash];
        assert_eq!(holder_at(&struck, 12), Some((NodeId(1), 12)));
        assert_eq!(holder_at(&struck, 30), None, "a crash ends a stay");
    }
}
