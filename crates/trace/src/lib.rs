//! One run as data: what happened, at which node, when.
//!
//! - [`record`]: the records themselves: the one type of what happens in a run, for all drivers;
//! - [`mod@line`]: a record without the types of the algorithm, as a line of a file;
//! - [`mod@file`]: how a run is written to a file as it happens, and read record by record;
//! - [`recording`]: whole runs, as they are read;
//! - [`mod@judge`]: the monitors of a problem, over a recorded run;
//! - [`mod@replay`]: a recorded run, done once more by the machines;
//! - [`meter`]: what every run is measured by;
//! - [`measure`]: what a run cost, in the terms of the literature on mutual exclusion;
//! - [`batches`]: how far the mean of a run may be from the truth;
//! - [`stage`]: nodes driven by hand from a script that reads as prose.
#![forbid(unsafe_code)]

pub mod batches;
mod fairness;
pub mod fault;
pub mod file;
pub mod judge;
pub mod line;
pub mod measure;
pub mod meter;
pub mod record;
pub mod recording;
pub mod replay;
mod samples;
pub mod stage;

pub use batches::Batches;
pub use fault::Fault;
pub use file::{Digest, End, Ending, Header, ReadError, Writer, Wrong};
pub use judge::{Verdict, judge};
pub use line::{Json, Line, LineEvent, LineMessage};
pub use measure::{Measure, Summary};
pub use meter::{Meter, Sent, Traffic};
pub use record::{Lines, Loss, Payload, Record, What};
pub use recording::{Recording, Trace};
pub use replay::{Objection, replay};
pub use stage::Stage;
