//! What the daemon is told, and what it says when it is told nonsense.

use std::collections::BTreeSet;
use std::path::Path;

use vorrang_lock::{Config, Key};
use vorrang_testkit::Folder;

use crate::support::{Daemon, run, stderr, stdout, vorrang};

/// Every default that `serve --show-config` prints is what the documentation says.
#[test]
fn defaults_suit_a_real_network() {
    let shown = run(&mut vorrang(&["serve", "--show-config"]));
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    let text = stdout(&shown);
    for line in [
        "group = \"default\"",
        "name = \"a\"",
        "room = 64",
        "beat = \"200ms\"",
        "margin = \"800ms\"",
        "margin-cap = 10",
        "margin-halves-after = \"1m\"",
        "lease = \"1s\"",
        "drift = 0",
        "grace = \"300ms\"",
        "batch-clients = 16",
        "batch-time = \"100ms\"",
        "idle-names = 100000",
        "max-hold = \"off\"",
        "holds = 16384",
        "leave-within = \"10s\"",
        "socket-mode = \"0600\"",
        "log = \"text\"",
        "request-within = \"10s\"",
        "renew-within = \"10s\"",
    ] {
        let wanted = format!("{line}  # default");
        assert!(text.lines().any(|it| it == wanted), "{wanted}\n{text}");
    }
}

/// The tables of the page on operation: each key that has a default is in one, with that.
#[test]
fn the_page_on_operation_has_every_default() {
    let page = page_on_operation();
    let section = section(&page, "## Defaults");
    let tables: Vec<&str> = section.split("\n\n").filter(|it| it.starts_with("| key |")).collect();
    assert_eq!(tables.len(), 2, "{section}");
    let usual = Config::default();
    let mut documented = BTreeSet::from(["name"]);
    for (table, must_agree) in tables.into_iter().zip([true, false]) {
        for row in table.lines().skip(2) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [names, values] = [cells[1], cells[2]].map(|it| it.split(", "));
            assert_eq!(names.clone().count(), values.clone().count(), "{row}");
            for (name, value) in names.zip(values) {
                let name = name.trim_matches('`');
                let key = Config::KEYS.iter().find(|it| it.name == name);
                let key = key.unwrap_or_else(|| panic!("there is no key {name}"));
                let shown = key.show(&usual).unwrap_or_else(|| "off".to_owned());
                assert_eq!(in_words(value), shown, "{name}");
                // That of the algorithm is compared by itself.
                let agrees = key.is_agreed() || name == "algorithm";
                assert_eq!(agrees, must_agree, "{name} is in the wrong table");
                documented.insert(key.name);
            }
        }
    }
    let has_default = |key: &&Key| key.show(&usual).is_some();
    let all: BTreeSet<&str> = Config::KEYS.iter().filter(has_default).map(|it| it.name).collect();
    let missing: Vec<_> = all.difference(&documented).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

/// As it is written in a configuration what people write as `1 min`, `0 ‰` and `16,384`.
fn in_words(value: &str) -> String {
    let value = value.trim_matches('`').trim_end_matches('‰').replace(" min", "m");
    value.replace([' ', ','], "")
}

fn page_on_operation() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace");
    std::fs::read_to_string(root.join("docs/operations.md")).expect("there is one")
}

fn section<'p>(page: &'p str, title: &str) -> &'p str {
    let (_, rest) = page.split_once(title).expect("there is such a section");
    rest.split("\n## ").next().expect("there is a part").trim()
}

/// The table of metrics: those that a daemon may have, and no others.
#[test]
fn the_page_on_operation_has_every_metric() {
    let page = page_on_operation();
    let rows = section(&page, "## What each metric means").lines().filter(|it| it.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1)).skip(2);
    let documented: BTreeSet<&str> =
        first.flat_map(|cell| cell.split(", ")).map(|it| it.trim().trim_matches('`')).collect();
    let folder = Folder::new("families");
    let daemon = Daemon::start(&folder, "s", &[]);
    let mut hold = daemon.hold("1", r#"{"kind":"lock","name":"a"}"#);
    hold.granted();
    let text = daemon.get("/metrics").body;
    let families = text.lines().filter_map(|it| it.strip_prefix("# TYPE ")?.split(' ').next());
    // One without keys has no certificate.
    let mut served: BTreeSet<&str> = families.collect();
    served.insert("vorrang_certificate_expiry_seconds");
    assert_eq!(documented, served);
}

#[test]
fn what_is_shown_can_be_read_back_and_says_where_it_comes_from() {
    let folder = Folder::new("shown");
    let file = folder.file("v.toml");
    std::fs::write(
        &file,
        "name = 'b'\nlease = '3s'\nbeat = '150ms'\ndata = 'state'\n\n[http]\n\
         listen = '127.0.0.1:7480'\n\
         \n[[member]]\nname = 'a'\naddress = '127.0.0.1:7400'\n[[member]]\nname = 'b'\n\
         address = '127.0.0.1:7401'\nhttp = '127.0.0.1:7480'\n[[client]]\nname = 'ci'\n\
         prefixes = ['ci/', 'x\"y']\nholds = 10\n",
    )
    .expect("it can be written");
    let path = file.to_str().expect("UTF-8");
    let mut command = vorrang(&["serve", "--config", path, "--lease", "4s", "--show-config"]);
    let shown = run(command.env("VORRANG_LEASE", "5s").env("VORRANG_BEAT", "250ms"));
    let first = stdout(&shown);
    for line in [
        "lease = \"4s\"  # --lease".to_owned(),
        "beat = \"250ms\"  # VORRANG_BEAT".to_owned(),
        format!("name = \"b\"  # {path}:1"),
        format!("listen = \"127.0.0.1:7480\"  # {path}:7"),
        format!("data = \"{}\"  # {path}:4", folder.path("state")),
        "margin = \"800ms\"  # default".to_owned(),
    ] {
        assert!(first.lines().any(|it| it == line), "{line}\n{first}");
    }
    let again = folder.file("again.toml");
    std::fs::write(&again, &first).expect("it can be written");
    let mut command = vorrang(&["serve", "--show-config", "--config"]);
    let second = stdout(&run(command.arg(&again)));
    let values = |text: &str| {
        let value = |line: &str| line.split("  # ").next().unwrap_or_default().to_owned();
        text.lines().map(value).collect::<Vec<String>>()
    };
    assert_eq!(values(&first), values(&second));
    assert!(first.contains("prefixes = [\"ci/\", \"x\\\"y\"]") && first.contains("holds = 10"));
}

#[test]
fn a_configuration_is_checked_without_being_used() {
    let folder = Folder::new("checked");
    let file = folder.file("v.toml");
    let check = |text: &str| {
        std::fs::write(&file, text).expect("it can be written");
        let mut command = vorrang(&["serve", "--check-config", "--config"]);
        run(command.arg(&file))
    };
    let good = check("lease = '2s'\n");
    assert_eq!((good.status.code(), stdout(&good).as_str()), (Some(0), ""), "{}", stderr(&good));
    for (text, line, words) in [
        ("group = 'x'\nleese = '2s'\n", 2, "unknown key 'leese': did you mean 'lease'?"),
        ("\n\nbeat = 'soon'\n", 3, "beat = \"soon\": "),
        ("[http]\nlisen = 'x'\n", 2, "'http.lisen': did you mean 'http.listen'?"),
        ("[[member]]\nname = 'a'\nadress = 'x:1'\n", 3, "'adress': did you mean 'address'?"),
        ("room = \n", 1, ""),
    ] {
        let output = check(text);
        let why = stderr(&output);
        assert_eq!(output.status.code(), Some(78), "{text} {why}");
        let place = format!("{}:{line}: ", file.display());
        assert!(why.contains(&place) && why.contains(words), "{place} {words}\n{why}");
    }
    for (text, words) in [
        ("lease = '400ms'\n", "lease = \"400ms\" is too short"),
        (
            "[http]\nlisten = '0.0.0.0:7480'\n",
            "http.listen = \"0.0.0.0:7480\" is not on this machine",
        ),
        ("algorithm = 'suzuki_kasami'\n", "did you mean \"suzuki-kasami\"?"),
        ("name = 'x'\n[[member]]\nname = 'a'\naddress = '127.0.0.1:7400'\n", "none of the members"),
        ("[tls]\nkey = 'x'\n", "[tls] has no authority"),
        ("[tls]\nkey = 'x'\nauthority = 'y'\ncertificate = 'z'\n", "cannot read"),
    ] {
        let output = check(text);
        let why = stderr(&output);
        assert_eq!(output.status.code(), Some(78), "{text} {why}");
        assert!(why.contains(words), "{words}\n{why}");
    }
    let output = run(&mut vorrang(&["serve", "--check-config", "--config", "/dev/null/v.toml"]));
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("cannot read /dev/null/v.toml"), "{}", stderr(&output));
}

#[test]
fn an_option_or_a_variable_that_is_wrong_is_named() {
    let output = run(&mut vorrang(&["serve", "--beat", "often"]));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(78), "{why}");
    assert!(why.contains("--beat = \"often\""), "{why}");
    let output = run(vorrang(&["serve"]).env("VORRANG_HTTP_LISTEN", "everywhere"));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(78), "{why}");
    assert!(why.contains("everywhere"), "{why}");
    let output = run(&mut vorrang(&["serve", "--leese", "2s"]));
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{why}");
    assert!(why.contains("--leese") && why.contains("--lease"), "{why}");
}
