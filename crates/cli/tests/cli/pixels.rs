//! Pictures as PNG: with the feature `png` they are drawn (`cargo test -p vorrang-cli --features
//! png --test cli pixels`), and without it they are refused with what to do instead.

use crate::support;

use std::fs;

use support::{Folder, run};

const SWEEP: [&str; 9] = [
    "sweep",
    "--nodes",
    "3,7",
    "--algorithms",
    "lamport,maekawa",
    "--seeds",
    "2",
    "--entries",
    "60",
];

#[cfg(feature = "png")]
#[test]
fn a_run_of_every_problem_is_drawn_in_pixels() {
    let folder = Folder::new("pixels");
    let runs: [&[&str]; 7] = [
        &["run", "suzuki-kasami", "--nodes", "3", "--entries", "4"],
        &["run", "bully", "--nodes", "4", "--crash", "3@0"],
        &["run", "echo", "--nodes", "6", "--topology", "ring"],
        &["run", "heartbeat", "--nodes", "3", "--crash", "2@20ms", "--for", "60ms"],
        &["run", "virtual-synchrony", "--nodes", "3", "--multicasts", "4", "--crash", "2@22ms"],
        &["check", "maekawa-basic"],
        &["quorum", "plane", "--nodes", "13"],
    ];
    for (number, args) in runs.iter().enumerate() {
        let path = folder.path(&format!("{number}.png"));
        let (code, out, aside) = run(&[&["draw"], *args, &["-o", &path]].concat());
        assert_eq!(code, 0, "{args:?}: {out}{aside}");
        let png = fs::read(&path).expect("a picture");
        assert!(png.starts_with(b"\x89PNG") && png.len() > 5_000, "{args:?}");
    }
    let (code, _, aside) = run(&["draw", "check", "maekawa-basic", "--format", "png"]);
    assert_eq!(code, 2);
    assert!(aside.contains("PNG is not for a terminal"), "{aside}");
}

#[cfg(feature = "png")]
#[test]
fn a_sweep_is_plotted_in_pixels() {
    let folder = Folder::new("pixels-plot");
    let (csv, once, again) = (folder.path("s.csv"), folder.path("s.png"), folder.path("t.png"));
    let (code, _, aside) = run(&[&SWEEP[..], &["--csv", &csv, "--plot", &once]].concat());
    assert_eq!(code, 0, "{aside}");
    let (code, _, aside) = run(&["plot", &csv, "--y", "throughput", "-o", &again]);
    assert_eq!(code, 0, "{aside}");
    for png in [once, again] {
        assert!(fs::read(&png).expect("a plot").starts_with(b"\x89PNG"), "{png}");
    }
}

#[cfg(not(feature = "png"))]
#[test]
fn a_build_without_pixels_says_how_to_get_them() {
    let folder = Folder::new("pixels");
    let (png, csv) = (folder.path("my run.png"), folder.path("s.csv"));
    let refused = |args: &[&str], file: &str, again: &str| {
        let (code, _, aside) = run(args);
        assert_eq!(code, 2, "{args:?}: {aside}");
        let told = format!(
            "error: {file}: this build has no PNG: take .svg, or say cargo run --release \
             --features png -- {again}\n"
        );
        assert_eq!(aside, told);
        assert!(fs::read(file).is_err(), "something was written");
    };
    let draw = ["draw", "run", "ricart-agrawala", "--nodes", "3", "-o", &png];
    refused(&draw, &png, &format!("draw run ricart-agrawala --nodes 3 -o '{png}'"));
    let quorum = ["draw", "quorum", "plane", "--nodes", "13", "-o", "plane.PNG"];
    refused(&quorum, "plane.PNG", &quorum.join(" "));
    let format = ["draw", "check", "maekawa-basic", "--format", "png"];
    refused(&format, "--format png", &format.join(" "));
    // Before the sweep, and not after it.
    let sweep = [&SWEEP[..], &["--csv", &csv, "--plot", "s.png"]].concat();
    refused(&sweep, "s.png", &sweep.join(" "));
    assert!(fs::read(&csv).is_err(), "the sweep was run");
    let plot = ["plot", "s.csv", "-o", "delay.png"];
    refused(&plot, "delay.png", &plot.join(" "));
}
