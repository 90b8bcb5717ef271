//! The agreement of processes that find each other, without sockets: what is drawn by lot, and what
//! can be said in a few steps.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use vorrang_net::udp::discovery::agreement::{
    Agreement, Candidate, Heed, List, MOST_CANDIDATES, News, Patience, Said,
};

const PATIENCE: Patience =
    Patience { silence: Duration::from_millis(500), commitment: Duration::from_secs(2) };
const STEP: Duration = Duration::from_millis(100);

fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn candidate(port: u16) -> Candidate {
    Candidate { address: address(port), life: 1 }
}

fn process(port: u16, wanted: usize) -> Agreement {
    Agreement::new(candidate(port), wanted, PATIENCE)
}

fn ports(list: &[Candidate]) -> Vec<u16> {
    list.iter().map(|it| it.address.port()).collect()
}

/// Processes, and all that is on its way between them.
struct World {
    now: Duration,
    wanted: usize,
    processes: BTreeMap<u16, Agreement>,
    under_way: Vec<(u16, Candidate, Said)>,
    /// Every list that anyone ever agreed on, by who did.
    agreed: Vec<(Candidate, List)>,
    news: Vec<(u16, News)>,
}

impl World {
    fn new(ports: impl IntoIterator<Item = u16>, wanted: usize) -> Self {
        let processes = ports.into_iter().map(|port| (port, process(port, wanted))).collect();
        let (under_way, agreed, news) = (Vec::new(), Vec::new(), Vec::new());
        Self { now: Duration::ZERO, wanted, processes, under_way, agreed, news }
    }

    /// One speaks, and it is on its way to all others.
    fn speak(&mut self, port: u16) {
        let Some(process) = self.processes.get_mut(&port) else { return };
        process.tick(self.now);
        let (from, said) = (process.me(), process.says());
        let others = self.processes.keys().filter(|to| **to != port);
        self.under_way.extend(others.map(|to| (*to, from, said.clone())));
        self.note(port);
    }

    fn hear(&mut self, (to, from, said): (u16, Candidate, Said)) {
        if let Some(process) = self.processes.get_mut(&to) {
            assert_eq!(process.hear(self.now, from, said), Heed::Heard);
            self.note(to);
        }
    }

    fn note(&mut self, port: u16) {
        let process = self.processes.get_mut(&port).expect("it is there");
        self.news.extend(process.take_news().into_iter().map(|news| (port, news)));
        if let Some(list) = process.agreed() {
            let news = (process.me(), list.clone());
            if !self.agreed.contains(&news) {
                self.agreed.push(news);
            }
        }
    }

    /// Everyone speaks and is heard, a few times.
    fn calm(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.now += STEP;
            let all: Vec<u16> = self.processes.keys().copied().collect();
            for port in all {
                self.speak(port);
            }
            let arriving = std::mem::take(&mut self.under_way);
            for it in arriving {
                self.hear(it);
            }
        }
    }

    /// Lists with a common member are the same.
    fn is_safe(&self) -> bool {
        let lists = || self.agreed.iter().map(|(_, list)| list);
        lists().all(|one| {
            lists().all(|other| one == other || !one.iter().any(|it| other.contains(it)))
        })
    }

    /// Those who have agreed by now, and on what.
    fn lists(&self) -> BTreeMap<u16, Vec<u16>> {
        let agreed = |(port, process): (&u16, &Agreement)| Some((*port, ports(process.agreed()?)));
        self.processes.iter().filter_map(agreed).collect()
    }

    /// Whatever can happen, by lot; who may die and come, if any may.
    fn storm(&mut self, rng: &mut impl Rng, steps: u32, loss: u32, may_die: bool) {
        let mut draw = |below: usize| (rng.next_u64() % below as u64) as usize;
        for _ in 0..steps {
            self.now += STEP / 8;
            let all: Vec<u16> = self.processes.keys().copied().collect();
            match draw(100) {
                0 if may_die => {
                    let victim = all[draw(all.len())];
                    self.processes.remove(&victim);
                    // Another one, or the next life of the same.
                    let port = if draw(2) == 0 { victim } else { victim + 100 };
                    let mut next = process(port, self.wanted);
                    if port == victim {
                        let life = self.now.as_micros() as u64;
                        let me = Candidate { life, ..next.me() };
                        next = Agreement::new(me, self.wanted, PATIENCE);
                    }
                    self.processes.insert(port, next);
                }
                0..40 => self.speak(all[draw(all.len())]),
                _ if self.under_way.is_empty() => {}
                what => {
                    let which = draw(self.under_way.len());
                    let it = self.under_way[which].clone();
                    if what >= 45 {
                        self.under_way.swap_remove(which);
                    }
                    if draw(100) >= loss as usize {
                        self.hear(it);
                    }
                }
            }
        }
    }
}

#[test]
fn whatever_is_lost_and_overtaken_all_end_with_one_list() {
    for seed in 0..600 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let wanted = 2 + (seed % 4) as usize;
        let mut world = World::new(1..=wanted as u16, wanted);
        let loss = [0, 20, 50, 90][(seed / 4 % 4) as usize];
        world.storm(&mut rng, 400, loss, false);
        assert!(world.is_safe(), "{seed}: {:?}", world.agreed);
        world.calm(60);
        assert!(world.is_safe(), "{seed}: {:?}", world.agreed);
        let all: Vec<u16> = (1..=wanted as u16).collect();
        let lists = world.lists();
        assert_eq!(lists.len(), wanted, "{seed}: {lists:?}");
        assert!(lists.values().all(|list| *list == all), "{seed}: {lists:?}");
    }
}

/// With one or two more than wanted there is one list or none: any two would have a common member.
#[test]
fn with_too_many_there_is_one_list_or_none() {
    let (mut some, mut none) = (0, 0);
    for seed in 0..600 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let wanted = 3 + (seed % 2) as usize;
        let present = wanted as u16 + 1 + (seed / 2 % 2) as u16;
        let mut world = World::new(1..=present, wanted);
        world.storm(&mut rng, 300, [0, 60, 90][(seed / 4 % 3) as usize], false);
        assert!(world.is_safe(), "{seed}: {:?}", world.agreed);
        world.calm(60);
        assert!(world.is_safe(), "{seed}: {:?}", world.agreed);
        let lists = world.lists();
        // A group can begin whose members all have its list.
        let begins = |list: &Vec<u16>| list.iter().all(|port| lists.get(port) == Some(list));
        let mut beginning: Vec<_> = lists.values().filter(|list| begins(list)).collect();
        beginning.dedup();
        assert!(beginning.len() <= 1, "{seed}: {lists:?}");
        if beginning.is_empty() {
            none += 1;
            let crowd = (1..=present).map(address).collect();
            assert!(world.news.contains(&(1, News::Present(crowd))), "{seed}: {:?}", world.news);
        } else {
            some += 1;
            let left_out = world.processes.values().filter(|it| it.left_out_of().is_some());
            assert_eq!(left_out.count(), present as usize - wanted, "{seed}");
        }
    }
    assert!(some > 10 && none > 10, "both happen: {some} and {none}");
}

/// Processes die and others come at any time: lists with a common member are the same.
#[test]
fn deaths_at_any_time_make_no_two_lists_of_one_member() {
    let mut lists = 0;
    for seed in 0..1500 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let wanted = 2 + (seed % 3) as usize;
        let present = wanted as u16 + (seed / 3 % 3) as u16;
        let mut world = World::new(1..=present, wanted);
        world.storm(&mut rng, 600, [0, 30, 60][(seed / 9 % 3) as usize], true);
        world.calm(10);
        assert!(world.is_safe(), "{seed}: {:?}", world.agreed);
        lists += world.agreed.len();
    }
    assert!(lists > 500, "{lists}");
}

#[test]
fn one_that_dies_while_they_look_is_replaced() {
    let mut world = World::new([1, 2], 3);
    world.calm(3);
    world.processes.remove(&2);
    world.processes.insert(3, process(3, 3));
    world.calm(10);
    world.processes.insert(4, process(4, 3));
    world.calm(5);
    assert_eq!(world.lists().into_values().collect::<Vec<_>>(), vec![vec![1, 3, 4]; 3]);
}

/// A member dies when one has committed: that one begins anew, and the next takes the place.
#[test]
fn one_that_dies_when_another_has_committed_is_replaced() {
    let mut world = World::new([1, 2, 3], 3);
    let list: List = [1, 2, 3].map(candidate).to_vec();
    for from in [2, 3] {
        world.hear((1, candidate(from), Said::Proposes(list.clone())));
    }
    assert_eq!(world.processes[&1].says(), Said::Commits(list));
    world.processes.remove(&3);
    world.processes.insert(4, process(4, 3));
    world.calm(12);
    let expected = vec![vec![1, 2, 4]; 3];
    assert_eq!(world.lists().into_values().collect::<Vec<_>>(), expected);
    let abandoned = world.news.iter().any(|it| *it == (1, News::Abandoned(vec![address(3)])));
    assert!(abandoned && world.is_safe(), "{:?}", world.news);
}

#[test]
fn one_that_leaves_is_not_waited_for_and_one_too_many_keeps_all_from_beginning() {
    let mut world = World::new([1, 2, 3, 4], 3);
    world.calm(20);
    assert_eq!(world.lists(), BTreeMap::new());
    let crowd: Vec<_> = (1..=4).map(address).collect();
    for port in 1..=4 {
        assert!(world.news.contains(&(port, News::Present(crowd.clone()))), "{port}");
    }
    world.processes.remove(&2);
    for port in [1, 3, 4] {
        world.hear((port, candidate(2), Said::Leaves));
    }
    world.calm(3);
    assert_eq!(world.lists().into_values().collect::<Vec<_>>(), vec![vec![1, 3, 4]; 3]);
}

#[test]
fn who_comes_late_is_told_and_who_has_the_place_of_a_dead_member_takes_it() {
    let mut world = World::new([1, 2, 3], 3);
    world.calm(5);
    assert!(world.processes.values().all(Agreement::is_common_knowledge));
    world.processes.insert(4, process(4, 3));
    world.calm(1);
    assert_eq!(world.processes[&4].left_out_of().map(|it| ports(it)), Some(vec![1, 2, 3]));
    let later = Candidate { life: 9, ..candidate(2) };
    world.processes.insert(2, Agreement::new(later, 3, PATIENCE));
    world.calm(1);
    assert_eq!(world.lists()[&2], [1, 2, 3]);
    assert_eq!(world.lists().len(), 3);
}

/// A commitment is not undone by what was said before it and comes later, nor by a former life.
#[test]
fn what_comes_late_changes_nothing() {
    let mut one = process(1, 2);
    let list: List = [1, 2].map(candidate).to_vec();
    one.hear(STEP, candidate(2), Said::Commits(list.clone()));
    assert_eq!(one.says(), Said::Agreed(list.clone()));
    let mut one = process(1, 3);
    let list: List = [1, 2, 3].map(candidate).to_vec();
    one.hear(STEP, candidate(3), Said::Looks);
    one.hear(STEP, candidate(2), Said::Commits(list.clone()));
    assert_eq!(one.says(), Said::Commits(list.clone()));
    one.hear(STEP, candidate(2), Said::Looks);
    one.hear(STEP, Candidate { life: 0, ..candidate(2) }, Said::Leaves);
    one.hear(STEP, candidate(3), Said::Commits(list.clone()));
    assert_eq!(one.says(), Said::Agreed(list));
}

/// What was said before a commitment and comes after it does not hide it from one that still looks.
#[test]
fn a_commitment_is_not_taken_back_by_what_it_overtook() {
    let mut one = process(1, 3);
    let list: List = [1, 2, 3].map(candidate).to_vec();
    one.hear(STEP, candidate(2), Said::Commits(list.clone()));
    one.hear(STEP, candidate(2), Said::Looks);
    one.hear(STEP, candidate(3), Said::Looks);
    assert_eq!(one.says(), Said::Commits(list));
}

/// Others that are there and never commit are not waited for: after a while it begins anew.
#[test]
fn a_commitment_that_nobody_shares_is_given_up_in_time() {
    let mut one = process(1, 2);
    let list: List = [1, 2].map(candidate).to_vec();
    one.hear(Duration::ZERO, candidate(2), Said::Proposes(list.clone()));
    one.take_news();
    let mut now = Duration::ZERO;
    while now < PATIENCE.commitment {
        now += STEP;
        one.hear(now, candidate(2), Said::Proposes(list.clone()));
        assert_eq!(one.says(), Said::Commits(list.clone()), "{now:?}");
    }
    one.hear(now + STEP, candidate(2), Said::Looks);
    let next = Candidate { life: 2, ..candidate(1) };
    assert_eq!((one.me(), one.says()), (next, Said::Proposes(vec![next, candidate(2)])));
    assert_eq!(one.take_news(), [News::Abandoned(vec![address(2)])]);
}

#[test]
fn what_nobody_can_say_is_dropped_and_so_is_one_too_many() {
    let mut one = process(1, 2);
    for list in [vec![], vec![1], vec![2, 1], vec![2, 2], vec![1, 2, 3], vec![3, 4]] {
        let list: List = list.into_iter().map(candidate).collect();
        for said in [Said::Proposes(list.clone()), Said::Commits(list.clone()), Said::Agreed(list)]
        {
            assert_eq!(one.hear(STEP, candidate(2), said.clone()), Heed::Implausible, "{said:?}");
        }
    }
    assert_eq!(one.says(), Said::Looks);
    for port in 2..2 + MOST_CANDIDATES as u16 {
        assert_eq!(one.hear(STEP, candidate(port), Said::Looks), Heed::Heard);
    }
    assert_eq!(one.hear(STEP, candidate(999), Said::Looks), Heed::Full);
    assert_eq!(one.hear(STEP, candidate(2), Said::Looks), Heed::Heard);
    // The silent make room.
    assert_eq!(one.hear(STEP * 9, candidate(999), Said::Looks), Heed::Heard);
    let expected = [1, 999].map(candidate).to_vec();
    assert_eq!(one.says(), Said::Proposes(expected));
}
