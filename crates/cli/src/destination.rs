//! Where the rows of a sweep go.

use vorrang_experiment::failure::Failure;
use vorrang_experiment::sweep_csv::{Destination, SweepCsv};
use vorrang_node::terminal::{print, say_aside};

/// Writes the table there, all or nothing.
pub(crate) fn write(csv: &SweepCsv, to: &Destination) -> Result<(), Failure> {
    match to {
        Destination::Out => print(&csv.text()?),
        Destination::File(path) => csv.write(path),
    }
}

/// Says what was done, where it does not come between the rows.
pub(crate) fn report(to: &Destination, line: &str) -> Result<(), Failure> {
    match to {
        Destination::Out => {
            say_aside(line);
            Ok(())
        }
        Destination::File(_) => print(&format!("{line}\n")),
    }
}
