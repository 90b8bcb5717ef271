//! `vorrang merge`: the parts of one sweep, joined.

use std::path::PathBuf;

use vorrang_experiment::failure::Failure;
use vorrang_experiment::sweep_csv::{Destination, SweepCsv};

use crate::destination;

/// Join the parts of one sweep that several machines computed
///
/// Refuses parts of different sweeps, and points that were computed twice with different results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  vorrang merge part*.csv --csv all.csv")]
pub(crate) struct Merge {
    /// The files that 'vorrang sweep --shard' wrote
    #[arg(required = true, value_name = "FILE")]
    parts: Vec<PathBuf>,
    /// The file to write; - for standard output
    #[arg(long, value_name = "FILE")]
    csv: Destination,
}

impl Merge {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        if let Destination::File(path) = &self.csv
            && path.exists()
        {
            if path.is_dir() {
                return Err(Failure::at(path, "is a directory"));
            }
            return Err(Failure::usage(format!("{} exists: choose another file", path.display())));
        }
        let mut all = SweepCsv::read(&self.parts[0])?;
        for path in &self.parts[1..] {
            let part = SweepCsv::read(path)?;
            if part.header != all.header {
                let shown = path.display();
                return Err(Failure::usage(format!(
                    "{shown}: its columns are not those of the first part"
                )));
            }
            for row in part.rows.into_values() {
                all.add(row).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
            }
        }
        let Some((_, points)) = all.identity else {
            return Err(Failure::usage("there is not a single point in these files"));
        };
        let found = all.rows.len() as u64;
        if let Some(missing) = (0..points).find(|point| !all.rows.contains_key(point)) {
            return Err(Failure::usage(format!(
                "{} of {points} points are missing, the first of them number {missing}: is a part \
                 not here? Nothing was written",
                points - found
            )));
        }
        destination::write(&all, &self.csv)?;
        destination::report(&self.csv, &format!("{found} of {points} points in {}", self.csv))?;
        all.verdict()
    }
}
