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
    /// Whether something else was asked than when the same answers had been given before.
    is_astray: bool,
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
        self.is_astray |= choice.bound != bound;
        self.asked += 1;
        choice.value.min(bound.get() - 1)
    }

    /// Whether the handler, run again from the same state, did not ask what it asked before: it is
    /// not deterministic.
    pub(crate) fn has_strayed(&self) -> bool {
        self.is_astray || self.asked != self.made.len()
    }

    /// The answers of this run, to be given once more.
    pub(crate) fn replay(&self) -> Replay<'_> {
        Replay { made: &self.made, asked: 0, is_astray: false }
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

/// The answers of a run, given once more.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    made: &'a [Choice],
    asked: usize,
    is_astray: bool,
}

impl Replay<'_> {
    /// The answer that was given before.
    pub(crate) fn choose(&mut self, bound: NonZeroU32) -> u32 {
        let choice = self.made.get(self.asked).filter(|it| it.bound == bound);
        self.asked += 1;
        self.is_astray |= choice.is_none();
        choice.map_or(0, |it| it.value)
    }

    /// Whether something else was asked, more or less.
    pub(crate) fn has_strayed(&self) -> bool {
        self.is_astray || self.asked != self.made.len()
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
    fn a_handler_that_asks_differently_the_second_time_is_noticed() {
        let mut choices = Choices::default();
        choices.choose(below(2));
        assert!(!choices.has_strayed());
        choices.advance();
        choices.choose(below(3));
        assert!(choices.has_strayed(), "something else");

        let mut choices = Choices::default();
        choices.choose(below(2));
        choices.advance();
        assert!(choices.has_strayed(), "nothing");
    }

    #[test]
    fn answers_given_once_more_are_the_same_and_no_others() {
        let mut choices = Choices::default();
        choices.choose(below(2));
        choices.advance();
        choices.choose(below(2));
        choices.choose(below(5));
        let asked = |bounds: &[u32]| {
            let mut replay = choices.replay();
            let answers: Vec<u32> = bounds.iter().map(|&it| replay.choose(below(it))).collect();
            (answers, replay.has_strayed())
        };
        assert_eq!(asked(&[2, 5]), (vec![1, 0], false));
        assert_eq!(asked(&[2]), (vec![1], true));
        assert_eq!(asked(&[2, 4]), (vec![1, 0], true));
        assert_eq!(asked(&[2, 5, 2]), (vec![1, 0, 0], true));
    }
}
