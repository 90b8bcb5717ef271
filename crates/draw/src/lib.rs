//! Pictures of distributed runs. Nothing here knows an algorithm or a problem: a [`Story`] is the
//! visible part of a run, prepared by a caller that knows its meaning.
//!
//! - [`story`]: the input;
//! - [`chart`]: what there is to draw of it: arrows, bars, marks;
//! - [`spacetime`]: the space-time diagram, as SVG;
//! - [`mermaid`], [`shiviz`], [`perfetto`], [`dot`], [`text`]: the same for others to show;
//! - [`graph`]: graphs of nodes, as SVG and for Graphviz;
//! - [`plot`]: measured points over what the theory says;
//! - [`pdf`]: any of these pictures for a paper;
//! - `png`: any of these pictures as pixels, with the feature of that name.
#![forbid(unsafe_code)]

mod captions;
pub mod chart;
pub mod clocks;
mod colours;
mod curves;
pub mod dot;
pub mod excerpt;
pub mod graph;
mod labels;
mod layout;
mod legend;
mod margins;
pub mod mermaid;
mod naming;
pub mod pdf;
pub mod perfetto;
mod places;
pub mod plot;
#[cfg(feature = "png")]
pub mod png;
mod scale;
mod series;
pub mod shiviz;
pub mod spacetime;
pub mod state_table;
pub mod story;
mod svg;
pub mod text;
mod ways;
mod words;

pub use chart::Chart;
pub use colours::Theme;
pub use excerpt::Excerpt;
pub use graph::Graph;
pub use places::Placement;
pub use plot::Plot;
pub use story::{Bar, Clock, Event, Look, Mark, MessageLabel, Story, What, Wrong};
