//! Every answer to a handler's choices, one run of the handler at a time.

use std::num::NonZeroU32;

/// The answers of one run, and which are left for others.
///
/// The first run is answered with zeros. Then the last answer that can be raised is raised, and
/// what came after it is forgotten, since the handler may now ask something else: a count in which
/// every digit has its own base.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    made: Vec<Choice>,
    asked: usize,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    value: u32,
    bound: NonZeroU32,
}

impl Choices {
    /// The answer in this run.
    pub(crate) fn choose(&mut self, bound: NonZeroU32) -> u32 {
        if self.asked == self.made.len() {
            self.made.push(Choice { value: 0, bound });
        }
        let choice = self.made[self.asked];
        assert!(
            choice.bound == bound,
            "a handler run again from the same state asked for another choice: it is not \
             deterministic"
        );
        self.asked += 1;
        choice.value
    }

    /// Goes on to the next run of the same handler; false if there is none left.
    pub(crate) fn advance(&mut self) -> bool {
        self.asked = 0;
        while let Some(last) = self.made.last_mut() {
            last.value += 1;
            if last.value < last.bound.get() {
                return true;
            }
            self.made.pop();
        }
        false
    }

    /// The answers of this run.
    pub(crate) fn made(&self) -> Vec<u32> {
        self.made.iter().map(|choice| choice.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_runs(mut handler: impl FnMut(&mut Choices)) -> Vec<Vec<u32>> {
        let mut choices = Choices::default();
        let mut runs = Vec::new();
        loop {
            handler(&mut choices);
            runs.push(choices.made());
            if !choices.advance() {
                return runs;
            }
        }
    }

    fn below(bound: u32) -> NonZeroU32 {
        NonZeroU32::new(bound).unwrap()
    }

    #[test]
    fn a_handler_that_asks_nothing_runs_once() {
        assert_eq!(all_runs(|_| {}), [[0; 0]]);
    }

    #[test]
    fn later_questions_may_depend_on_earlier_answers() {
        let runs = all_runs(|choices| {
            if choices.choose(below(3)) == 1 {
                choices.choose(below(2));
            }
        });
        assert_eq!(runs, [vec![0], vec![1, 0], vec![1, 1], vec![2]]);
    }

    #[test]
    #[should_panic(expected = "it is not deterministic")]
    fn a_handler_that_asks_differently_the_second_time_is_an_error() {
        let mut choices = Choices::default();
        choices.choose(below(2));
        choices.advance();
        choices.choose(below(3));
    }
}
