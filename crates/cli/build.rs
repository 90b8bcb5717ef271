//! Makes the program smaller where the linker can. Functions that were compiled to the same code
//! are kept once: generic code of text and tables is not optimised, and a fifteenth of the program
//! is such copies. Addresses that the loader adjusts at the start are packed: they are another
//! fifteenth.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// What LLD, gold and mold know, and other linkers do not.
const FOLD: &str = "-Wl,--icf=all";
/// What LLD, mold and newer ones of GNU know, and loaders of glibc 2.36 or later.
const PACK: &str = "-Wl,-z,pack-relative-relocs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if env::var("PROFILE").is_ok_and(|it| it == "release") {
        for option in [FOLD, PACK] {
            if is_known(option) {
                println!("cargo::rustc-link-arg-bins={option}");
            }
        }
    }
}

/// Whether a program that does nothing can be linked with this option, and runs. What is built for
/// another machine does not run here, and goes without.
fn is_known(option: &str) -> bool {
    let variable = |name| env::var_os(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    let (source, program) =
        (Path::new(&folder).join("nothing.rs"), Path::new(&folder).join("nothing"));
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg("--target").arg(variable("TARGET")).arg(format!("-Clink-arg={option}"));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\u{1f}').filter(|it| !it.is_empty()));
    rustc.arg("-o").arg(&program).arg(&source);
    succeeds(&mut rustc) && succeeds(&mut Command::new(program))
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|it| it.success())
}
