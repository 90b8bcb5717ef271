//! How the plain search keeps time.

use std::collections::BTreeMap;

use vorrang_check::Links;
use vorrang_protocol::Delay;

use super::naive::Naive;
use super::world::{Armed, Flying, Timer, World};

impl Naive<'_> {
    /// What delays force.
    pub(super) fn keep_time(
        &self,
        before: &World,
        next: &mut World,
        hours: Vec<(Timer, Option<Delay>)>,
        sent: &mut [Flying],
    ) {
        let Links { within, .. } = self.system.links;
        // For every timer, how long it takes at least from now on, as far as anything says.
        let mut least: BTreeMap<Timer, i64> = BTreeMap::new();
        for &timer in next.armed.keys().filter(|_| within.is_some()) {
            let rooms = before.befores().filter_map(|it| it.get(&timer));
            least.insert(timer, rooms.copied().max().unwrap_or(0));
        }
        for (timer, delay) in hours {
            next.disarm(timer);
            least.remove(&timer);
            let Some(delay) = delay else { continue };
            let [shortest, longest] = [delay.min, delay.max].map(|it| it.as_millis() as i64);
            for (other, armed) in &mut next.armed {
                let room = shortest - armed.longest;
                if room > 0 && within.is_some() || room >= 0 && other.0 == timer.0 {
                    armed.before.insert(timer, if within.is_some() { room } else { 0 });
                }
            }
            let later = least.iter().filter(|&(_, &least)| least > longest);
            let room = |least: i64| if within.is_some() { least - longest } else { 0 };
            let rooms = later.map(|(&other, &least)| (other, room(least))).collect();
            if let Some(within) = within.map(|it| it.as_millis() as i64) {
                for it in next.flying.iter_mut().filter(|_| shortest >= within) {
                    it.before.insert(timer, shortest - within);
                }
            }
            next.armed.insert(timer, Armed { longest, before: rooms });
            least.insert(timer, shortest);
        }
        if let Some(within) = within.map(|it| it.as_millis() as i64) {
            for it in sent {
                let rooms = least.iter().map(|(&timer, least)| (timer, least - within));
                it.before = rooms.filter(|it| it.1 >= 0).collect();
            }
        }
    }
}
