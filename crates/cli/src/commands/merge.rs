//! `vorrang merge`: the parts of one sweep, joined.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::print;
use crate::sheet::Sheet;

/// Join the parts of one sweep that several machines computed
///
/// Refuses parts of different sweeps, and points that were computed twice with different results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  vorrang merge part*.csv --csv all.csv")]
pub(crate) struct Merge {
    /// The files that 'vorrang sweep --shard' wrote
    #[arg(required = true, value_name = "FILE")]
    parts: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    csv: PathBuf,
}

impl Merge {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        if self.csv.exists() {
            let path = self.csv.display();
            return Err(Failure::usage(format!("{path} exists: choose another file")));
        }
        let mut all = Sheet::read(&self.parts[0])?;
        for path in &self.parts[1..] {
            let part = Sheet::read(path)?;
            let refused = |why| Failure::Failed(format!("{}: {why}", path.display()));
            if part.header != all.header {
                return Err(refused("its columns are not those of the first part".to_owned()));
            }
            for row in part.rows.into_values() {
                all.add(row).map_err(refused)?;
            }
        }
        let Some((_, points)) = all.identity else {
            return Err(Failure::Failed("there is not a single point in these files".to_owned()));
        };
        all.write(&self.csv)?;
        let (path, found) = (self.csv.display(), all.rows.len() as u64);
        print(&format!("{found} of {points} points in {path}\n"))?;
        if found < points {
            let missing = (0..points).find(|point| !all.rows.contains_key(point)).unwrap_or(0);
            return Err(Failure::Failed(format!(
                "{} points are missing, the first of them number {missing}: is a part not here?",
                points - found
            )));
        }
        Ok(())
    }
}
