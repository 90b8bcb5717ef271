//! What the daemon is told, and what it says when it is told nonsense.

use vorrang_testkit::Folder;

use crate::support::{run, stderr, stdout, vorrang};

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
