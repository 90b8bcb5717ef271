//! Lets the linker keep one of several functions that were compiled to the same code, where it can:
//! generic code of text and tables is not optimised, and a fifteenth of the program is such copies.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if env::var("PROFILE").is_ok_and(|it| it == "release") && can_fold() {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}

/// Whether the linker knows the option: LLD, gold and mold do, others do not. A program that does
/// nothing is linked with it.
fn can_fold() -> bool {
    let variable = |name| env::var_os(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("nothing.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg("--target").arg(variable("TARGET")).arg(format!("-Clink-arg={FOLD}"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|it| !it.is_empty()));
    rustc.arg("-o").arg(Path::new(&folder).join("nothing")).arg(&source);
    let status = rustc.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|it| it.success())
}
