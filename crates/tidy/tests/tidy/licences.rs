//! What is built into the project: licences and sources of all dependencies, on all platforms and
//! with all features, beside what `deny.toml` allows. `cargo deny` reads the same file and says the
//! same; to build it takes longer than all other checks of a change but the tests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use vorrang_tidy::{Manifest, Offences};

/// What `deny.toml` allows.
struct Allowed {
    licences: Vec<String>,
    registries: Vec<String>,
}

impl Allowed {
    fn read(root: &Path) -> Self {
        let text = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
        let table = Manifest::parse("deny.toml", &text);
        let list = |keys: [&str; 2]| table.list(&keys).into_iter().map(str::to_owned).collect();
        Self {
            licences: list(["licenses", "allow"]),
            registries: list(["sources", "allow-registry"]),
        }
    }

    /// What is wrong with a package of somebody else, and which of the allowed licences it is used
    /// under: the first allowed one of each choice.
    fn judge(&self, package: &Value) -> (Vec<String>, BTreeSet<String>) {
        let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
        let source = package["source"].as_str().unwrap_or_default();
        let registry = source.strip_prefix("registry+").unwrap_or(source);
        if !self.registries.iter().any(|it| it == registry) {
            wrong.push(format!("comes from '{source}', which deny.toml does not allow"));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        match Expression::parse_mode(licence, ParseMode::LAX) {
            Err(_) => wrong.push(format!("has the licence '{licence}', which nobody can read")),
            Ok(expression) => {
                let is_allowed = expression.evaluate(|wanted| {
                    let name = wanted.to_string();
                    let is_one = self.licences.contains(&name);
                    if is_one {
                        used.insert(name);
                    }
                    is_one
                });
                if !is_allowed {
                    wrong.push(format!("has the licence '{licence}', which is not allowed"));
                }
            }
        }
        (wrong, used)
    }
}

/// The dependencies of a package of ours, other than our own, of which it takes any version.
fn of_any_version(package: &Value) -> Vec<&str> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let is_any = |it: &&Value| it["req"] == "*" && it["path"].is_null();
    dependencies.filter(is_any).filter_map(|it| it["name"].as_str()).collect()
}

fn packages(root: &Path) -> Vec<Value> {
    let args = ["metadata", "--locked", "--all-features", "--format-version", "1"];
    let cargo = Command::new(env!("CARGO")).args(args).current_dir(root).output();
    let output = cargo.expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("a list of packages: {other}"),
    }
}

#[test]
fn every_dependency_is_permissively_licensed_and_comes_from_the_registry() {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let allowed = Allowed::read(root);
    let (mut offences, mut used, mut others) = (Offences::default(), BTreeSet::new(), 0);
    for package in &packages(root) {
        let name = package["name"].as_str().expect("a name");
        if package["source"].is_null() {
            for dependency in of_any_version(package) {
                let manifest = package["manifest_path"].as_str().unwrap_or(name);
                offences.add(manifest, 1, format!("takes any version of {dependency}"));
            }
            continue;
        }
        let (wrong, under) = allowed.judge(package);
        for what in wrong {
            offences.add("Cargo.lock", 1, format!("{name} {} {what}", package["version"]));
        }
        used.extend(under);
        others += 1;
    }
    for licence in allowed.licences.iter().filter(|it| !used.contains(*it)) {
        offences.add("deny.toml", 1, format!("nothing is used under {licence}: remove it"));
    }
    assert!(others > 100, "{others} dependencies: are these all?");
    offences.assert_none();
}

#[test]
fn a_wrong_licence_a_strange_source_and_any_version_are_objected_to() {
    let allowed = Allowed { licences: vec!["MIT".into()], registries: vec!["there".into()] };
    let judge = |source: &str, licence: &str| {
        let package = serde_json::json!({ "source": source, "license": licence });
        allowed.judge(&package).0
    };
    assert_eq!(judge("registry+there", "MIT"), [""; 0]);
    assert_eq!(judge("registry+there", "Apache-2.0/MIT"), [""; 0]);
    for (source, licence, what) in [
        ("registry+elsewhere", "MIT", "elsewhere"),
        ("git+there", "MIT", "git+there"),
        ("registry+there", "GPL-3.0-only", "GPL-3.0-only"),
        ("registry+there", "MIT AND GPL-3.0-only", "not allowed"),
        ("registry+there", "", "nobody can read"),
        ("registry+there", "my own words", "my own words"),
    ] {
        let wrong = judge(source, licence);
        assert!(wrong.len() == 1 && wrong[0].contains(what), "{source} {licence}: {wrong:?}");
    }
    let ours = serde_json::json!({ "dependencies": [
        { "name": "any", "req": "*" },
        { "name": "some", "req": "^1" },
        { "name": "own", "req": "*", "path": "crates/own" },
    ] });
    assert_eq!(of_any_version(&ours), ["any"]);
}
