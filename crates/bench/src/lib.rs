//! Benchmarks only: see `benches/`.
#![forbid(unsafe_code)]
