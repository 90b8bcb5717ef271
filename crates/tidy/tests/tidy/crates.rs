//! How the crates lie on each other, and what their manifests have in common.

use vorrang_tidy::{Crate, Dependency, Manifest, Offences, Source, Tree};

/// The crates of ours that a crate may be built with; none if we have never heard of it.
fn below(name: &str) -> Option<Allowed> {
    Some(match name {
        // What is drawn is told by others.
        "protocol" | "draw" | "terminal" | "testkit" => Allowed::Only(&[]),
        "algorithms" | "erased" => Allowed::Only(&["vorrang-protocol"]),
        "trace" => Allowed::Only(&["vorrang-erased", "vorrang-protocol"]),
        // The drivers: they see neither an algorithm nor each other.
        "sim" | "check" | "net" => {
            Allowed::Only(&["vorrang-erased", "vorrang-protocol", "vorrang-trace"])
        }
        "catalogue" => Allowed::Only(&["vorrang-algorithms", "vorrang-erased", "vorrang-protocol"]),
        // A library for programs that need locks: neither what simulates nor a terminal.
        "lock" => Allowed::Only(&[
            "vorrang-algorithms",
            "vorrang-catalogue",
            "vorrang-erased",
            "vorrang-net",
            "vorrang-protocol",
        ]),
        "workload" => Allowed::Only(&[
            "vorrang-algorithms",
            "vorrang-check",
            "vorrang-erased",
            "vorrang-protocol",
            "vorrang-sim",
            "vorrang-trace",
        ]),
        // A library for notebooks, web pages and services: it sees no terminal.
        "experiment" => Allowed::AllBut(&[
            "vorrang-cli",
            "vorrang-node",
            "vorrang-terminal",
            "vorrang",
            "vorrang-testkit",
        ]),
        "node" => Allowed::AllBut(&["vorrang-cli", "vorrang", "vorrang-testkit"]),
        // The lock service lies beside the command line, and sees the library of locks alone.
        "service" => Allowed::Only(&["vorrang-lock", "vorrang-protocol", "vorrang-terminal"]),
        "cli" | "bench" | "tidy" | "vorrang" => Allowed::AllBut(&["vorrang-testkit"]),
        _ => return None,
    })
}

enum Allowed {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

impl Allowed {
    fn has(&self, package: &str) -> bool {
        match self {
            Self::Only(packages) => packages.contains(&package),
            Self::AllBut(packages) => !packages.contains(&package),
        }
    }
}

/// What only somebody at a terminal needs.
const OF_TERMINALS: [&str; 8] = [
    "anstream",
    "anstyle",
    "clap",
    "clap_complete",
    "ctrlc",
    "indicatif",
    "terminal_size",
    "tracing-subscriber",
];

/// Crates that may see a terminal.
const AT_TERMINALS: [&str; 6] = ["cli", "node", "service", "terminal", "bench", "tidy"];

/// Crates that read a command line in every build.
const AT_COMMAND_LINES: [&str; 4] = ["cli", "service", "bench", "tidy"];

/// Crates that may wait on sockets; all others must run to their end.
const MAY_WAIT: [&str; 8] =
    ["net", "lock", "experiment", "node", "cli", "service", "bench", "tidy"];

/// Crates that may turn names into types.
const MAY_NAME: [&str; 6] = ["catalogue", "experiment", "node", "cli", "bench", "tidy"];

/// Crates in which the compiler is to forbid clocks, sockets, threads and printing.
const WITHOUT_STD: [&str; 2] = ["protocol", "algorithms"];

#[test]
fn a_crate_sees_only_the_crates_below_it() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, manifest } in tree.crates() {
        let Some(allowed) = below(name) else {
            offences.add(
                manifest.path,
                1,
                format!("no rule knows crates/{name}: say in crates/tidy what it may see"),
            );
            continue;
        };
        for dependency in manifest.dependencies() {
            let package = dependency.package();
            if is_ours(package) && !allowed.has(package) {
                offences.add(
                    manifest.path,
                    dependency.line,
                    format!(
                        "{name} must not see {package}: make it a dev-dependency, or move code"
                    ),
                );
            }
        }
    }
    offences.assert_none();
}

/// Otherwise `cargo run`, with which the README begins, does not know which binary is meant.
#[test]
fn what_is_run_by_default_is_the_command_line() {
    let tree = Tree::read();
    assert_eq!(tree.workspace().list(&["workspace", "default-members"]), ["crates/cli"]);
    assert!(tree.text("README.md").contains("\n$ cargo run --release -- run ricart-agrawala\n"));
}

#[test]
fn only_the_network_and_what_lies_above_it_use_tokio() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, manifest } in tree.crates() {
        for dependency in manifest.dependencies() {
            let package = dependency.package();
            let waits = package == "tokio" || package.starts_with("tokio-");
            if waits && !MAY_WAIT.contains(&name) {
                let what = format!("{name} must not use {package}: what waits belongs into net");
                offences.add(manifest.path, dependency.line, what);
            }
        }
    }
    offences.assert_none();
}

/// A notebook or a service has none. What is behind a feature is there for those who have one.
#[test]
fn libraries_do_without_a_terminal() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, manifest } in tree.crates() {
        for dependency in manifest.dependencies() {
            let package = dependency.package();
            let is_optional = dependency.flag("optional") == Some(true);
            let may: &[&str] = if package == "clap" { &AT_COMMAND_LINES } else { &AT_TERMINALS };
            if OF_TERMINALS.contains(&package) && !may.contains(&name) && !is_optional {
                let what =
                    format!("{name} must not use {package}: what is printed belongs into cli");
                offences.add(manifest.path, dependency.line, what);
            }
        }
    }
    offences.assert_none();
}

#[test]
fn names_become_types_only_for_the_command_line() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for source in tree.sources() {
        let allowed = MAY_NAME.iter().any(|name| in_crate(&source, name));
        for path in ["vorrang_algorithms::registry", "crate::registry", "super::registry"] {
            for place in source.in_code(path) {
                if !allowed && !source.is_test(place) {
                    let what = "the registry is for the command line: take the type as a parameter";
                    offences.add(source.path, source.line_of(place), what);
                }
            }
        }
    }
    offences.assert_none();
}

#[test]
fn the_contract_and_the_algorithms_do_without_std() {
    let tree = Tree::read();
    let workspace = tree.workspace();
    let shared = workspace.all_dependencies();
    let mut offences = Offences::default();
    for name in WITHOUT_STD {
        let path = format!("crates/{name}/src/lib.rs");
        if Source::of(&path, tree.text(&path)).in_code("#![no_std]").is_empty() {
            offences.add(&path, 1, "std is at hand: add #![no_std]");
        }
        let path = format!("crates/{name}/Cargo.toml");
        let manifest = Manifest::parse(&path, tree.text(&path));
        for dependency in manifest.dependencies() {
            if !is_ours(dependency.package()) {
                check_is_without_std(&manifest, &dependency, &shared, &mut offences);
            }
        }
    }
    offences.assert_none();
}

fn check_is_without_std(
    manifest: &Manifest<'_>,
    dependency: &Dependency<'_>,
    shared: &[Dependency<'_>],
    offences: &mut Offences,
) {
    let name = dependency.name;
    let inherited = shared.iter().find(|one| dependency.is_inherited() && one.name == name);
    let declared = inherited.unwrap_or(dependency);
    if declared.flag("default-features") != Some(false) {
        let what = format!("{name} comes with default features: add default-features = false");
        offences.add(manifest.path, dependency.line, what);
    }
    if declared.has_feature("std") || dependency.has_feature("std") {
        let what = format!("{name} comes with std: leave the feature out");
        offences.add(manifest.path, dependency.line, what);
    }
}

#[test]
fn every_crate_forbids_unsafe_code() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, .. } in tree.crates() {
        for root in ["lib.rs", "main.rs"] {
            let path = format!("crates/{name}/src/{root}");
            if let Some(file) = tree.file(&path)
                && Source::of(&path, &file.text).in_code("#![forbid(unsafe_code)]").is_empty()
            {
                offences.add(&path, 1, "unsafe code is not forbidden: add #![forbid(unsafe_code)]");
            }
        }
    }
    offences.assert_none();
}

#[test]
fn a_package_is_called_after_its_folder() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, manifest } in tree.crates() {
        let wanted = if name == "vorrang" { name.to_owned() } else { format!("vorrang-{name}") };
        let found = manifest.str(&["package", "name"]).unwrap_or_default();
        if found != wanted {
            offences.add(manifest.path, 1, format!("the package is {found}: call it {wanted}"));
        }
    }
    offences.assert_none();
}

#[test]
fn crates_inherit_what_they_have_in_common() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { manifest, .. } in tree.crates() {
        let flags = ["version", "edition", "rust-version", "license"]
            .map(|key| (vec!["package", key, "workspace"], format!("{key}.workspace = true")));
        let lints = (vec!["lints", "workspace"], "[lints] workspace = true".to_owned());
        for (keys, wanted) in flags.into_iter().chain([lints]) {
            if manifest.flag(&keys) != Some(true) {
                let what = format!("differs from the workspace: write {wanted}");
                offences.add(manifest.path, 1, what);
            }
        }
        for dependency in manifest.all_dependencies() {
            // Tests of a library may use a crate that in turn is tested with that library. Without
            // a version, such a dependency is left out of the package, and with it the circle.
            let is_for_tests = is_ours(dependency.package()) && dependency.get("path").is_some();
            if !dependency.is_inherited() && !is_for_tests {
                let what = format!(
                    "{} is declared here alone: declare it in Cargo.toml and inherit it",
                    dependency.name
                );
                offences.add(manifest.path, dependency.line, what);
            }
        }
    }
    offences.assert_none();
}

/// Crates that are of no use outside this tree.
const OUR_OWN: [&str; 3] = ["bench", "testkit", "tidy"];

#[test]
fn only_what_others_can_use_is_published() {
    let tree = Tree::read();
    let mut offences = Offences::default();
    for Crate { name, manifest } in tree.crates() {
        let (keys, wanted, text) = if OUR_OWN.contains(&name) {
            (&["package", "publish"][..], false, "publish = false")
        } else {
            (&["package", "publish", "workspace"][..], true, "publish.workspace = true")
        };
        if manifest.flag(keys) != Some(wanted) {
            offences.add(manifest.path, 1, format!("write {text}"));
        }
    }
    offences.assert_none();
}

#[test]
fn everything_comes_from_this_tree_or_from_crates_io() {
    const CRATES_IO: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";
    let tree = Tree::read();
    let mut offences = Offences::default();
    let crates = tree.crates();
    let workspace = tree.workspace();
    for manifest in crates.iter().map(|one| &one.manifest).chain([&workspace]) {
        for dependency in manifest.all_dependencies() {
            for key in ["git", "registry", "registry-index"] {
                if dependency.get(key).is_some() {
                    let name = dependency.name;
                    let what = format!("{name} has a {key} of its own: take it from crates.io");
                    offences.add(manifest.path, dependency.line, what);
                }
            }
        }
        for key in ["patch", "replace"] {
            if manifest.value(&[key]).is_some() {
                let what = format!("[{key}] takes something from elsewhere: remove it");
                offences.add(manifest.path, 1, what);
            }
        }
    }
    for (number, line) in (1..).zip(tree.text("Cargo.lock").lines()) {
        if line.strip_prefix("source = ").is_some_and(|source| source != CRATES_IO) {
            offences.add("Cargo.lock", number, "is not from crates.io: build without redirection");
        }
    }
    for file in tree.files().iter().filter(|file| file.path.starts_with(".cargo/")) {
        let config = Manifest::parse(&file.path, &file.text);
        for key in ["source", "registry", "registries"] {
            if config.value(&[key]).is_some() {
                let what = format!("[{key}] is one machine's matter: set it outside the project");
                offences.add(&file.path, 1, what);
            }
        }
    }
    offences.assert_none();
}

fn is_ours(package: &str) -> bool {
    package == "vorrang" || package.starts_with("vorrang-")
}

fn in_crate(source: &Source<'_>, name: &str) -> bool {
    source.path.strip_prefix("crates/").is_some_and(|rest| rest.split('/').next() == Some(name))
}
