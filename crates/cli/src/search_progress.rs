//! How far a search has come, on a line of its own, until Ctrl-C ends it.

use std::ops::ControlFlow;

use indicatif::ProgressBar;
use vorrang_experiment::format::grouped;
use vorrang_experiment::problem::Looked;

use crate::interrupt;
use crate::output::{show_after_a_second, spinner};

/// A line that tells how far a search has come; it goes when this does.
pub(crate) struct SearchProgress {
    bar: ProgressBar,
    shows: bool,
}

impl SearchProgress {
    pub(crate) fn new(shows: bool) -> Self {
        Self { bar: if shows { spinner() } else { ProgressBar::hidden() }, shows }
    }

    /// Shows the progress; Ctrl-C ends the search.
    pub(crate) fn watch(&self) -> impl FnMut(Looked) -> ControlFlow<()> {
        |looked| {
            let Looked { progress, walks } = looked;
            let walks = walks.map_or_else(String::new, |(left, all)| {
                format!("{} of {} walks left, ", grouped(left), grouped(all))
            });
            self.bar.set_message(format!(
                "{walks}{} states, {} steps, depth {}, {} MiB",
                grouped(progress.states),
                grouped(progress.steps),
                progress.depth,
                progress.memory_bytes >> 20
            ));
            if self.shows {
                show_after_a_second(&self.bar);
            }
            if interrupt::is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
}

impl Drop for SearchProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
