//! Where the arrows of a space-time diagram lie, which may begin in one row and end in another.

use std::collections::HashMap;

use crate::chart::{Arrow, Fate};
use crate::layout::{Ends, Layout, between};
use crate::spacetime::{HALF, Picture};

impl Picture<'_> {
    /// Where arrows begin and end. Of several that would lie over each other, each is a little to
    /// the right of the last.
    pub(crate) fn ways(&self) -> Vec<Ends> {
        let mut alike: HashMap<_, u32> = HashMap::new();
        let mut ways = Vec::with_capacity(self.chart.arrows.len());
        for arrow in &self.chart.arrows {
            let (mut from, mut to) = self.way(arrow);
            let count = alike.entry((arrow.from, arrow.to, arrow.sent, arrow.got)).or_default();
            let aside = f64::from(*count) * 5.0;
            *count += 1;
            (from.0, to.0) = (from.0 + aside, to.0 + aside);
            ways.push((from, to));
        }
        ways
    }

    /// Whether a node is in something at a time, so that a bar lies over its line.
    fn has_bar(&self, node: usize, at: u64) -> bool {
        let Some(bars) = self.bars.get(node) else { return false };
        let next = bars.partition_point(|&(from, _)| from <= at);
        next.checked_sub(1).is_some_and(|last| bars[last].1 >= at)
    }

    fn way(&self, arrow: &Arrow) -> Ends {
        let layout = self.layout;
        let x1 = layout.anywhere(arrow.sent);
        let (y1, mut y2) = (layout.y(arrow.from), layout.y(arrow.to));
        // The head is not hidden by a bar.
        if arrow.got.is_some_and(|got| self.has_bar(arrow.to, got)) {
            y2 += (y1 - y2).signum() * (HALF.min(layout.gap / 5.0) + 0.5);
        }
        let x2 = match arrow.fate {
            Fate::Arrived => layout.anywhere(arrow.got.unwrap_or(arrow.sent)),
            Fate::TooLate(at) | Fate::Lost(at) if at > arrow.sent => layout.anywhere(at),
            Fate::UnderWay if layout.is_last => layout.right() + 22.0,
            Fate::TooLate(_) | Fate::Lost(_) | Fate::UnderWay => x1 + layout.way,
        };
        ((x1, y1), (x2, y2))
    }

    /// The part of a way that lies in this row, and whether it goes on in the next.
    pub(crate) fn in_row(&self, (from, to): Ends) -> Option<(Ends, bool)> {
        let (left, right) = (self.layout.left, self.layout.right());
        // A message that is under way at the end of a run reaches beyond it.
        if from.0 >= left && (to.0 <= right || self.layout.is_last) {
            return Some(((from, to), false));
        }
        let share = |x: f64| ((x - from.0) / (to.0 - from.0)).clamp(0.0, 1.0);
        let right = if self.layout.is_last { to.0.max(right) } else { right };
        let (begin, end) = (share(left), share(right));
        let is_in = from.0 <= right && to.0 >= left && end > begin;
        is_in.then(|| ((between(from, to, begin), between(from, to, end)), end < 1.0))
    }

    /// Where a message is lost, if that is in this row.
    pub(crate) fn crossed(&self, place: usize) -> Option<(f64, f64)> {
        let (from, to) = self.ways[place];
        let at = match self.chart.arrows[place].fate {
            Fate::Lost(_) => between(from, to, 0.5),
            Fate::TooLate(_) => between(from, to, 0.94),
            Fate::Arrived | Fate::UnderWay => return None,
        };
        let Layout { left, is_last, .. } = *self.layout;
        (at.0 >= left && (at.0 < self.layout.right() || is_last)).then_some(at)
    }
}
