//! An order of work for whoever is to be told how long the rest will take.

/// All numbers below this one, in an order in which every part is like the whole: a run of one
/// algorithm takes a hundred times as long as a run of another, and whoever waits is told how long
/// the rest will take by what has been done.
pub(super) fn scattered(many: usize) -> Vec<usize> {
    let many = many as u64;
    // Steps of the golden section leave no part out for long.
    let step = (many as f64 * 0.618_034) as u64;
    let is_coprime = |step: &u64| {
        let (mut a, mut b) = (*step, many);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    let step = (step.max(1)..=many.max(1)).find(is_coprime).unwrap_or(1);
    (0..many).map(|turn| (turn * step % many) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_work_is_like_the_whole() {
        for many in [1, 2, 10, 97, 1000, 4096] {
            let order = scattered(many);
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, (0..many).collect::<Vec<_>>(), "each once");
            if many < 1000 {
                continue;
            }
            // What is slow stands together, in the last tenth.
            let is_slow = |it: &&usize| **it >= many / 10 * 9;
            for part in order.chunks(many / 20) {
                let slow = part.iter().filter(is_slow).count();
                let share = slow as f64 / part.len() as f64;
                assert!((0.05..0.16).contains(&share), "{share} of {many}");
            }
        }
        assert_eq!(scattered(0), [0_usize; 0]);
    }
}
