//! One run of one algorithm, as a value.

use std::path::Path;

use vorrang_trace::Recording;

use crate::catalogue::Run;
use crate::failure::Failure;
use crate::figures::Measured;
use crate::lookup;
use crate::network::Place;
use crate::options::RunArgs;
use crate::progress::Progress;
use crate::tracefile::Keep;

/// An algorithm and the options of a run: all that decides what happens in it.
///
/// The same scenario gives the same figures, on every machine.
///
/// ```
/// use vorrang_experiment::Scenario;
/// use vorrang_experiment::options::mutex::LoadKind;
///
/// let mut scenario = Scenario::of("central");
/// scenario.options.common.nodes = 10;
/// scenario.options.mutex.load = LoadKind::Light;
/// let figures = scenario.simulate()?;
/// assert!(figures.is_fine());
/// assert_eq!(figures.number("entries"), Some(10_000.0));
/// # Ok::<(), vorrang_experiment::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of the algorithm, as the catalogue has it.
    pub algorithm: String,
    /// The options, as they are by default or as they were changed.
    pub options: RunArgs,
}

impl Scenario {
    /// An algorithm with the default options.
    pub fn of(algorithm: impl Into<String>) -> Self {
        Self { algorithm: algorithm.into(), options: RunArgs::default() }
    }

    /// The run, if there is such an algorithm and the options fit together and fit it.
    pub fn run(&self) -> Result<Box<dyn Run>, Failure> {
        lookup::algorithm(&self.algorithm)?.algorithm.run(&self.options)
    }

    /// Runs it in the simulator.
    pub fn simulate(&self) -> Result<Measured, Failure> {
        self.run()?.simulate(None, None)
    }

    /// The same, with progress that is told now and then, and a trace that is written to a file.
    pub fn simulate_to(
        &self,
        trace: Option<&Path>,
        progress: Option<Progress<'_>>,
    ) -> Result<Measured, Failure> {
        self.run()?.simulate(trace, progress)
    }

    /// Runs it in the simulator, and hands back all that happened: for a picture, or to be done
    /// once more.
    ///
    /// ```
    /// use vorrang_experiment::{Scenario, story_from_trace};
    ///
    /// let mut scenario = Scenario::of("ricart-agrawala");
    /// scenario.options.common.nodes = 3;
    /// scenario.options.mutex.entries = 2;
    /// let story = story_from_trace::story(&scenario.record()?, false)?;
    /// assert_eq!(story.lanes.len(), 3);
    /// # Ok::<(), vorrang_experiment::Failure>(())
    /// ```
    pub fn record(&self) -> Result<Recording, Failure> {
        self.run()?.record()
    }

    /// Runs it over TCP on this machine.
    pub fn over_tcp(&self, place: Place<'_>, keep: Keep<'_>) -> Result<Measured, Failure> {
        let mut real = self.clone();
        real.options.common.is_real = true;
        real.run()?.over_tcp(place, keep)
    }

    /// The same as one text: what would have to be typed after `vorrang run`, every option with its
    /// value.
    ///
    /// ```
    /// let mut scenario = vorrang_experiment::Scenario::of("lamport");
    /// scenario.options.common.nodes = 3;
    /// assert!(scenario.text()?.starts_with("lamport --nodes 3 --entries 10000 --load heavy"));
    /// # Ok::<(), vorrang_experiment::Failure>(())
    /// ```
    pub fn text(&self) -> Result<String, Failure> {
        Ok(format!("{} {}", self.algorithm, self.run()?.options(false)))
    }
}

impl From<&str> for Scenario {
    fn from(algorithm: &str) -> Self {
        Self::of(algorithm)
    }
}

#[cfg(test)]
mod tests {
    use vorrang_sim::Distribution;
    use vorrang_testkit::Folder;

    use super::*;
    use crate::options::fault_args::Random;
    use crate::tracefile;

    #[test]
    fn what_is_recorded_is_what_a_file_says() {
        let folder = Folder::new("scenario");
        let path = folder.file("run.jsonl");
        for name in ["maekawa", "token-ring", "echo", "watching-bully", "srm", "virtual-synchrony"]
        {
            let mut scenario = Scenario::of(name);
            let options = &mut scenario.options;
            options.common.nodes = 4;
            options.common.latency = Some(Distribution::Uniform(500_000, 1_500_000));
            options.mutex.entries = 20;
            options.multicast.multicasts = Some(20);
            if name == "virtual-synchrony" {
                options.faults.random_faults = Some(Random::Harsh);
            }
            scenario.simulate_to(Some(&path), None).unwrap_or_else(|why| panic!("{name}: {why}"));
            let read = tracefile::read(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
            let recorded = scenario.record().unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!read.lines.is_empty(), "{name}");
            for (place, (one, other)) in recorded.lines.iter().zip(&read.lines).enumerate() {
                assert_eq!(one, other, "{name}: record {place}");
            }
            assert!(recorded == read, "{name}");
        }
    }

    #[test]
    fn values_that_no_run_can_have_are_refused() {
        let mut scenario = Scenario::of("lamport");
        scenario.options.common.nodes = 0;
        let why = scenario.simulate().unwrap_err().to_string();
        assert_eq!(why, "--nodes 0: give a whole number from 1 to 1000000");
        let why = Scenario::of("lampert").simulate().unwrap_err().to_string();
        assert!(why.contains("did you mean 'lamport'?"), "{why}");
    }
}
