//! Configurations that are right, and what is said of those that are not.

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("/etc/vorrang"))
}

/// Why a text is no configuration, or one that does not fit.
fn refused(text: &str) -> String {
    let checked = parse(text).and_then(|config| config.check());
    checked.expect_err(text).to_string()
}

const THREE: &str = r#"
name = "b"
[[member]]
name = "a"
address = "127.0.0.1:7400"
[[member]]
name = "b"
address = "localhost:7401"
http = "127.0.0.1:7480"
[[member]]
name = "c"
address = "[::1]:7402"
"#;

#[test]
fn defaults_are_those_of_the_documentation() {
    let text = Config::default().to_toml();
    let expected = r#"group = "default"
name = "a"
algorithm = "suzuki-kasami"
room = 64
beat = "200ms"
margin = "800ms"
margin-cap = 10
margin-halves-after = "1m"
lease = "1s"
drift = 0
grace = "300ms"
batch-clients = 16
batch-time = "100ms"
idle-names = 100000
max-hold = "off"
holds = 16384
leave-within = "10s"
socket-mode = "0600"
log = "text"

[http]
request-within = "10s"
renew-within = "10s"
"#;
    assert_eq!(text, expected);
    Config::default().check().unwrap();
    assert_eq!(Config::default().role().unwrap(), Role::Alone);
}

#[test]
fn what_is_shown_can_be_read_back() {
    let mut config = parse(THREE).unwrap();
    for (key, value) in [
        ("group", "bl\"ue\\"),
        ("algorithm", "readers-writers"),
        ("data", "/etc/v/data"),
        ("room", "7"),
        ("beat", "50ms"),
        ("margin", "1500ms"),
        ("margin-cap", "3"),
        ("margin-halves-after", "off"),
        ("lease", "2s"),
        ("drift", "7"),
        ("grace", "off"),
        ("batch-clients", "1"),
        ("batch-time", "off"),
        ("idle-names", "9"),
        ("max-hold", "2h"),
        ("socket", "/etc/v/sock"),
        ("socket-mode", "0660"),
        ("log", "json"),
        ("http.listen", "127.0.0.1:7480"),
        ("tls.authority", "/etc/k/ca.pem"),
        ("tls.certificate", "/etc/k/b.pem"),
        ("tls.key", "/etc/k/b.key"),
        ("join", "127.0.0.1:1,127.0.0.1:2"),
        ("address", "127.0.0.1:3"),
    ] {
        config.set(key, value).unwrap();
        let known = Config::KEYS.iter().find(|it| it.name == key).unwrap();
        assert_eq!(known.show(&config).as_deref(), Some(value), "{key}");
    }
    let limits = ClientLimits { name: "ci".into(), prefixes: vec!["ci/".into()], holds: Some(10) };
    config.clients.push(limits);
    let again = Config::parse(&config.to_toml(), Path::new("")).unwrap();
    assert_eq!(again, config);
    let members: Vec<_> = again.members.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(members, ["a", "b", "c"]);
    assert_eq!(again.members[1].http.as_deref(), Some("127.0.0.1:7480"));
}

#[test]
fn every_key_is_an_option_and_a_variable() {
    let mut config = Config::default();
    let variables = [
        ("VORRANG_LEASE", "3s"),
        ("VORRANG_HTTP_LISTEN", "127.0.0.1:1"),
        ("VORRANG_MARGIN_CAP", "4"),
        ("VORRANG_LOG_FORMAT", "json"),
        // Others have a meaning of their own.
        ("VORRANG_LOG", "debug"),
        ("VORRANG_TOKEN", "0"),
        ("HOME", "x"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    config.take_environment(variables).unwrap();
    let expected = Config {
        lease: Some(Duration::from_secs(3)),
        http_listen: Some("127.0.0.1:1".to_owned()),
        margin_cap: 4,
        log: LogFormat::Json,
        ..Config::default()
    };
    assert_eq!(config, expected);
    let wrong = [("VORRANG_ROOM".to_owned(), "many".to_owned())];
    let why = config.take_environment(wrong).unwrap_err().to_string();
    assert_eq!(why, "VORRANG_ROOM = \"many\": give a whole number from 1 to 128");
    config.set("member", "x=127.0.0.1:1, y=127.0.0.1:2").unwrap();
    assert_eq!(config.members[1].name, "y");
    assert!(config.set("member", "x").unwrap_err().to_string().contains("NAME=HOST:PORT"));
    let names: std::collections::BTreeSet<String> =
        Config::KEYS.iter().map(Key::variable).collect();
    assert_eq!(names.len(), Config::KEYS.len());
    for Key { name, help, .. } in Config::KEYS {
        assert!(!help.ends_with('.') && help.len() > 20, "{name}: {help}");
    }
}

#[test]
fn paths_are_relative_to_the_file() {
    let config = parse("data = 'state'\n[tls]\nauthority='ca'\ncertificate='/etc/k/c'\nkey='k'");
    let config = config.unwrap();
    assert_eq!(config.data.unwrap(), Path::new("/etc/vorrang/state"));
    let tls = config.tls.unwrap();
    assert_eq!(tls.authority, Path::new("/etc/vorrang/ca"));
    assert_eq!(tls.certificate, Path::new("/etc/k/c"));
}

#[test]
fn unknown_keys_name_the_nearest_and_where_they_stand() {
    for (text, expected) in [
        ("leese = '1s'", "line 1: unknown key 'leese': did you mean 'lease'?"),
        ("\n\nmargincap = 3", "line 3: unknown key 'margincap': did you mean 'margin-cap'?"),
        (
            "[http]\nlisten_on = 'x'",
            "line 2: unknown key 'http.listen_on': did you mean 'http.listen'?",
        ),
        ("[members]\n", "line 1: unknown key 'members': did you mean 'member'?"),
        (
            "[[member]]\nname = 'a'\nadress = 'x'",
            "line 3: unknown key 'adress': did you mean 'address'?",
        ),
        (
            "[[client]]\nname = 'a'\nprefix = []",
            "line 3: unknown key 'prefix': did you mean 'prefixes'?",
        ),
    ] {
        assert_eq!(refused(text), expected);
    }
    let far = refused("qqqqqqqqqq = 1");
    assert!(far.contains("the known ones are group, name,") && far.contains("member"), "{far}");
}

#[test]
fn wrong_values_are_named() {
    for (text, words) in [
        ("lease = 1", "line 1: lease = 1: write a text in quotes"),
        (
            "lease = '1'",
            "line 1: lease = \"1\": write a time such as 500ms, 90s, 10m or 2h; or off",
        ),
        ("beat = 'off'", "beat = \"off\": write a time"),
        ("room = 0", "room = 0: give a whole number from 1 to 128"),
        ("room = 129", "from 1 to 128"),
        ("room = '7'", "room = \"7\": write a whole number"),
        ("room = 0x7", "room = 0x7: write a whole number"),
        ("drift = 1000", "from 0 to 999"),
        ("log = 'xml'", "log = \"xml\": write text or json"),
        ("socket-mode = '888'", "in octal"),
        ("socket-mode = 600", "write a text in quotes"),
        ("group = ''", "group = \"\": it is empty"),
        ("group = \"a\\tb\"", "group = \"a\\tb\": it has the control character"),
        ("join = '127.0.0.1:1'", "write a list"),
        ("join = [7]", "join = 7: write a text in quotes"),
        ("member = 3", "write a table [[member]]"),
        ("member = [3]", "write a table [[member]]"),
        ("[[member]]\nname = 'a'", "a [[member]] has no address"),
        (
            "[[client]]\nname = 'a'\nholds = 'x'",
            "line 3: client.holds = \"x\": write a whole number",
        ),
        ("lease = ", "line 1: "),
        ("[tls]\nkey = 'k'", "[tls] has no authority"),
        ("algorithm = 'suzuki'", "is not known"),
        ("algorithm = 'suzuki-kasamy'", "did you mean \"suzuki-kasami\"?"),
        ("algorithm = 'k-exclusion'", "\"k-exclusion\" does not fit: it lets several in"),
        ("algorithm = 'group-exclusion'", "it grants no exclusive locks"),
    ] {
        let why = refused(text);
        assert!(why.contains(words), "{text}: {why}");
    }
    let long = format!("group = '{}'", "x".repeat(256));
    assert!(refused(&long).contains("256 bytes long"));
}

#[test]
fn keys_that_do_not_go_together_are_named() {
    for (more, words) in [
        ("lease = '300ms'", "lease = \"300ms\" is too short"),
        ("lease = '699ms'", "it takes 700ms at least"),
        ("max-hold = '300ms'", "max-hold = \"300ms\" is too short"),
        ("room = 2", "room = 2 is too small for 3 members"),
        ("address = '127.0.0.1:1'", "that of a member stands there"),
    ] {
        let why = refused(&format!("{more}\n{THREE}"));
        assert!(why.contains(words), "{more}: {why}");
    }
    parse(&format!("lease = '700ms'\n{THREE}")).unwrap().check().unwrap();
    let other = |from: &str, to: &str| refused(&THREE.replace(from, to));
    assert!(other("name = \"b\"\n[", "name = \"x\"\n[").contains("none of the members (a, b, c)"));
    assert!(other("name = \"b\"\n[[", "[[").contains("name is missing"));
    assert!(other("\"c\"", "\"a\"").contains("two members are called \"a\""));
    assert!(other("[::1]:7402", "127.0.0.1:7400").contains("\"a\" and \"c\" have one address"));
    assert!(other("[::1]:7402", "127.0.0.1").contains("\"127.0.0.1\" is no address"));
    assert!(other("[::1]:7402", "127.0.0.1:0").contains("is no address"));
    let joins = "join = ['127.0.0.1:7400']";
    assert!(refused(joins).contains("join needs an address"));
    let config = parse(&format!("{joins}\naddress = '127.0.0.1:1'")).unwrap();
    assert_eq!(config.role().unwrap(), Role::Newcomer);
    assert_eq!(parse(THREE).unwrap().role().unwrap(), Role::Founder(1));
}

#[test]
fn without_keys_all_addresses_are_on_this_machine() {
    for address in ["10.0.0.1:7400", "0.0.0.0:7400", "example.org:7400", "[fe80::1]:7400"] {
        let text = THREE.replace("[::1]:7402", address);
        let why = refused(&text);
        assert!(why.contains(address) && why.contains("is not on this machine"), "{why}");
        let keys = "[tls]\nauthority = 'a'\ncertificate = 'b'\nkey = 'c'\n";
        parse(&format!("{text}{keys}")).unwrap().check().unwrap();
    }
}

#[test]
fn what_members_must_agree_on_is_in_what_they_tell_each_other() {
    let usual = Config::default();
    let agreed = usual.agreed();
    assert!(agreed.contains("lease=1s") && agreed.contains("data=no"), "{agreed}");
    for (key, value) in [
        ("room", "7"),
        ("beat", "50ms"),
        ("margin", "1500ms"),
        ("margin-cap", "3"),
        ("margin-halves-after", "off"),
        ("lease", "2s"),
        ("drift", "7"),
        ("grace", "off"),
        ("batch-clients", "1"),
        ("batch-time", "off"),
        ("idle-names", "9"),
        ("data", "x"),
    ] {
        let mut other = usual.clone();
        other.set(key, value).unwrap();
        assert_ne!(other.agreed(), agreed, "{key}");
    }
    for (key, value) in [("max-hold", "1h"), ("socket", "x"), ("log", "json"), ("name", "x")] {
        let mut other = usual.clone();
        other.set(key, value).unwrap();
        assert_eq!(other.agreed(), agreed, "{key}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let why = Config::read("no-such-file.toml").unwrap_err().to_string();
    assert!(why.starts_with("cannot read no-such-file.toml: "), "{why}");
}
