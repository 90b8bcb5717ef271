//! The project's rules, each a test named as a sentence; a chapter a file.

mod cards;
mod crates;
mod documents;
mod licences;
mod sizes;
mod sources;
