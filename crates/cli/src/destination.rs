//! Where the rows of a sweep go.

use vorrang_experiment::failure::Failure;
use vorrang_experiment::sweep_csv::{Destination, SweepCsv};
use vorrang_node::terminal::{print, say_aside};

/// Writes a sheet there, all or nothing.
pub(crate) fn write(sheet: &SweepCsv, to: &Destination) -> Result<(), Failure> {
    match to {
        Destination::Out => print(&sheet.text()?),
        Destination::File(path) => sheet.write(path),
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
