//! Members and voters that change: on somebody's word, after a lost disk, and when a majority is
//! gone for good.

use std::fs;
use std::process::Output;

use rustix::process::Signal;
use vorrang_testkit::Folder;

use crate::support::{Daemon, Three, ports, run, stderr, stdout, vorrang, wait_for};

const LOCK: &str = r#"{"kind":"lock","name":"a"}"#;

/// Times in which nobody is suspected by mistake on a machine with much else to do.
const TIMES: &str = "margin = '3s'\nlease = '1500ms'\n";

/// Three members with data directories.
struct Disks {
    three: Three,
    /// After the daemons, whose logs are in it.
    folder: Folder,
}

impl Disks {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        Self { three: Three::new(&folder, TIMES), folder }
    }

    fn data(&self, name: &str) -> String {
        self.folder.path(&format!("data-{name}"))
    }

    fn start(&self, name: &str) -> Daemon {
        let daemon = self.three.member(&self.folder, name, &["--data", &self.data(name)]);
        daemon.wait_until_it_answers();
        daemon
    }

    fn start_all(&self) -> [Daemon; 3] {
        let all = ["a", "b", "c"].map(|name| self.start(name));
        for daemon in &all {
            becomes(daemon, &[("a", "member yes"), ("b", "member yes"), ("c", "member yes")]);
        }
        all
    }

    /// A fourth one, which joins: its daemon, and where it is.
    fn join(&self, by: &Daemon) -> (Daemon, String) {
        let [address] = ports();
        let members = by.get("/v1/members").json();
        let first = members["members"][0]["address"].as_str().expect("an address").to_owned();
        let config = self.folder.file("d.toml");
        let text = format!("{TIMES}join = ['{first}']\naddress = '{address}'\ndata = 'data-d'\n");
        fs::write(&config, text).expect("it can be written");
        let config = config.to_str().expect("UTF-8");
        let daemon = Daemon::spawn(&self.folder, "d", &["--config", config], |_| ());
        daemon.wait_until_it_answers();
        (daemon, address)
    }

    /// The command for a member whose daemon does not run.
    fn recover(&self, name: &str, options: &[&str]) -> Output {
        let data = self.data(name);
        let mut command = vorrang(&["recover", "--name", name, "--data", &data, "--config"]);
        run(command.arg(self.three.file()).args(options))
    }
}

/// How a member stands, as another one sees it: its state, and whether it votes.
fn standing(daemon: &Daemon, member: &str) -> Option<String> {
    let members = daemon.get("/v1/members").json();
    let found = members["members"].as_array()?.iter().find(|it| it["name"] == member)?.clone();
    let votes = match (found["voter"].as_bool()?, found["vote_lost"].as_bool()?) {
        (_, true) => "lost",
        (true, false) => "yes",
        (false, false) => "no",
    };
    Some(format!("{} {votes}", found["state"].as_str()?))
}

#[track_caller]
fn becomes(daemon: &Daemon, wanted: &[(&str, &str)]) {
    for (member, wanted) in wanted {
        wait_for(&format!("{member} is: {wanted}"), || {
            (standing(daemon, member).as_deref() == Some(*wanted)).then_some(())
        });
    }
}

fn members(at: &Daemon, options: &[&str]) -> Output {
    let mut command = vorrang(&["members", "--socket"]);
    run(command.arg(&at.socket).args(options))
}

#[track_caller]
fn changes(at: &Daemon, options: &[&str], said: &str) {
    let output = members(at, options);
    assert_eq!(output.status.code(), Some(0), "{options:?} {}", stderr(&output));
    assert_eq!(stdout(&output), said, "{options:?}");
}

#[track_caller]
fn fails(at: &Daemon, options: &[&str], code: i32, words: &str) {
    let output = members(at, options);
    let why = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{options:?} {why}");
    assert!(why.contains(words), "{options:?} {why}");
}

fn kill(mut daemon: Daemon) {
    daemon.signal(Signal::KILL);
    daemon.ends();
}

#[test]
fn a_member_is_evicted_is_told_so_and_comes_in_again_without_a_vote() {
    let disks = Disks::new("evict");
    let [a, b, _c] = disks.start_all();
    let mut held = b.hold("1", LOCK);
    let token = held.granted();
    let mut next = a.hold("2", LOCK);
    next.expect("waiting");
    changes(&a, &["--evict", "b"], "b is evicted\n");
    let lost = held.until("lost");
    assert_eq!(lost["why"], "evicted");
    assert!(lost["sentence"].as_str().expect("one").starts_with("somebody has evicted"), "{lost}");
    assert!(next.granted() > token);
    becomes(&a, &[("b", "member no"), ("c", "member yes")]);
    let evicted = b.get("/v1/members").json()["evicted"]["why"].clone();
    let why = evicted.as_str().expect("a reason");
    assert!(why.contains("somebody has asked a member to evict this one"), "{why}");
    let user = rustix::process::getuid().as_raw();
    let log = a.log();
    assert!(log.contains("a member is to be evicted") && log.contains(&format!("uid {user}")));
    b.hold("3", r#"{"kind":"lock","name":"b"}"#).granted();

    changes(&b, &["--add", "b"], "b votes\n");
    becomes(&a, &[("b", "member yes")]);
    // What is so already need not be done.
    changes(&a, &["--replace", "b", "b"], "b votes\n");
    fails(&a, &["--add", "zorro"], 64, "'zorro' is no member");
    changes(&a, &["--evict", "b"], "b is evicted\n");
    changes(&a, &["--evict", "c"], "c is evicted\n");
    becomes(&a, &[("b", "member no"), ("c", "member no")]);
    fails(&a, &["--evict", "a"], 64, "the only member that votes");
}

#[test]
fn a_fourth_member_votes_and_takes_the_place_of_one_that_is_gone() {
    let disks = Disks::new("fourth");
    let [a, b, c] = disks.start_all();
    let (d, address) = disks.join(&a);
    becomes(&a, &[(&address, "member no")]);
    changes(&b, &["--add", &address], &format!("{address} votes\n"));
    becomes(&a, &[(&address, "member yes")]);
    kill(c);
    becomes(&a, &[("c", "absent yes")]);
    // Now it does so for good.
    let said = format!("{address} votes\nc is evicted\n");
    changes(&a, &["--replace", "c", &address], &said);
    becomes(&a, &[("c", "absent no"), (&address, "member yes")]);
    // Two of the three that vote now: without the change it would be one of three.
    kill(b);
    becomes(&a, &[("b", "absent yes")]);
    d.hold("1", LOCK).granted();
    // Whoever joins others when it is started would have nobody to join.
    let output = run(vorrang(&["recover", "--config"]).arg(disks.folder.file("d.toml")));
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
    assert!(stderr(&output).contains("it cannot go on alone"), "{}", stderr(&output));
    // To add one that is not there is no way out.
    fails(&a, &["--add", "b"], 64, "start it, and let it come in first");
}

#[test]
fn a_machine_whose_disk_is_lost_comes_back_and_is_let_vote_again() {
    let disks = Disks::new("disk");
    let [a, b, c] = disks.start_all();
    let token = a.hold("1", LOCK).granted();
    kill(b);
    fs::remove_dir_all(disks.data("b")).expect("there is one");
    let b = disks.start("b");
    becomes(&a, &[("b", "member lost")]);
    // It votes on nothing: without c there is no majority.
    c.signal(Signal::STOP);
    wait_for("no majority", || (a.get("/readyz").status == 503).then_some(()));
    fails(&a, &["--add", "b"], 69, "the members have not agreed on it within 5s");
    c.signal(Signal::CONT);
    // That it was asked for is not forgotten.
    becomes(&a, &[("b", "member yes"), ("c", "member yes")]);
    kill(c);
    becomes(&b, &[("c", "absent yes")]);
    assert!(b.hold("2", LOCK).granted() > token);
}

#[test]
fn without_data_all_vote_and_whoever_is_evicted_comes_in_again() {
    let folder = Folder::new("forgetful");
    let [a, b, _c] = Three::new(&folder, TIMES).start(&folder);
    b.hold("1", LOCK).granted();
    changes(&a, &["--evict", "b"], "b is evicted\n");
    becomes(&a, &[("b", "member yes")]);
    assert!(b.get("/v1/members").json()["evicted"]["why"].is_string());
    fails(&a, &["--add", "b"], 64, "keeps nothing on disk (data)");
    let alone = Daemon::start(&folder, "alone", &[]);
    alone.wait_until_it_is_ready();
    fails(&alone, &["--evict", "a"], 64, "'a' is the only member of the group");
    fails(&alone, &["--evict", "nobody"], 64, "'nobody' is no member");
}

#[test]
fn a_group_is_recovered_from_one_of_three_directories() {
    let disks = Disks::new("recover");
    let [a, b, c] = disks.start_all();
    let token = a.hold("1", LOCK).granted();
    let refused = |output: &Output, code: i32, words: &str| {
        let why = stderr(output);
        assert_eq!(output.status.code(), Some(code), "{why}");
        assert!(why.contains(words), "{why}");
    };
    refused(&disks.recover("a", &["--force"]), 74, "is used by another process");
    kill(a);
    // The others are there.
    refused(&disks.recover("a", &["--force"]), 1, "a majority of the voters answers");
    becomes(&b, &[("a", "absent yes")]);
    kill(b);
    kill(c);
    for lost in ["b", "c"] {
        fs::remove_dir_all(disks.data(lost)).expect("there is one");
    }
    let output = disks.recover("a", &[]);
    refused(&output, 64, "nothing was changed: --force does it");
    let said = stdout(&output);
    assert!(said.contains("b, c vote") && said.contains("What may be lost"), "{said}");
    let output = disks.recover("a", &["--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    let [cost, done] = ["What may be lost", "done: from view"].map(|it| said.find(it));
    assert!(cost.is_some() && cost < done, "{said}");

    let a = disks.start("a");
    assert!(a.hold("1", LOCK).granted() > token);
    let [b, c] = ["b", "c"].map(|name| disks.start(name));
    becomes(&a, &[("a", "member yes"), ("b", "member no"), ("c", "member no")]);
    for name in ["b", "c"] {
        changes(&a, &["--add", name], &format!("{name} votes\n"));
    }
    kill(a);
    becomes(&b, &[("a", "absent yes")]);
    assert!(c.hold("2", LOCK).granted() > token);
}

#[test]
fn there_is_nothing_to_recover_where_nothing_is_kept() {
    let disks = Disks::new("nothing");
    let output = disks.recover("a", &["--force"]);
    assert_eq!(output.status.code(), Some(74), "{}", stderr(&output));
    assert!(stderr(&output).contains("there is nothing in"), "{}", stderr(&output));
    assert!(!disks.folder.file("data-a").exists());
    let mut command = vorrang(&["recover", "--force", "--name", "a", "--config"]);
    let output = run(command.arg(disks.three.file()));
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
    assert!(stderr(&output).contains("keeps nothing on disk"), "{}", stderr(&output));
    let both = ["recover", "--force", "--server", "127.0.0.1:1"];
    assert_eq!(run(&mut vorrang(&both)).status.code(), Some(64));
}
