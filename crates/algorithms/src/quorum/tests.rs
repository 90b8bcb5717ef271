//! Every construction against what the definitions say, by trying everything.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use vorrang_protocol::{Group, NodeId, NodeSet};

use super::chance::{Failure, failure};
use super::measure::{MOST_MEMBERS, Properties, properties};
use super::search::{Outcome, dominating, smallest_transversal};
use super::{QuorumSystem, Quorums};

fn system(text: &str, nodes: u32) -> QuorumSystem {
    text.parse::<Quorums>().unwrap().system(Group::of(nodes)).expect(text)
}

/// The same, of as many nodes as the text says itself.
fn own(text: &str) -> QuorumSystem {
    system(text, text.parse::<Quorums>().unwrap().nodes().unwrap())
}

fn ids(list: &[u32]) -> Vec<NodeId> {
    list.iter().copied().map(NodeId).collect()
}

/// All systems of up to so many nodes that a test can afford.
fn all_up_to(most: u32) -> Vec<QuorumSystem> {
    let any = ["singleton", "all", "majority", "grid", "triangle", "tree", "wall"];
    let schemes = ["triangle:columns", "triangle:rows", "cyclic", "plane:reduced"];
    let mut all = Vec::new();
    for nodes in 1..=most {
        all.extend(any.iter().chain(&schemes).map(|text| system(text, nodes)));
    }
    let planes = [7, 13, 21, 31].into_iter().filter(|&nodes| nodes <= most);
    all.extend(planes.map(|nodes| system("plane", nodes)));
    let given = [
        "wall:1,2,3",
        "wall:1,3",
        "wall:1,2,2,2",
        "wall:2,3",
        "wall:1,1,3",
        "wall:3,1",
        "wall:4",
        "wall:2,2,2",
        "wall:3,1,2,1",
        "weighted:2,1,1",
        "weighted:3,2,2",
        "weighted:5,1,1,1,1",
        "weighted:2,1,1,1",
        "weighted:0,1,1,1",
        "weighted:9,7,5,3,1,1",
        "weighted:6,4,3,2,2,1,0",
        "weighted:1",
        "sets:0-1,1-2,0-2",
        "sets:0-1-2,0-1,0-2-3,0",
        SLIDES_13,
    ];
    let fitting = given.into_iter().map(own);
    all.extend(fitting.filter(|system| system.group().size() <= most));
    all
}

/// The plane of order 3 as it is printed in textbooks, counted from 0.
const SLIDES_13: &str = "sets:0-1-2-3,1-4-7-10,2-5-7-12,3-5-9-10,0-4-5-6,1-5-8-11,1-6-9-12,\
    0-7-8-9,2-6-8-10,2-4-9-11,0-10-11-12,3-6-7-11,3-4-8-12";

fn masks(system: &QuorumSystem) -> Vec<u32> {
    let family = system.family(MOST_MEMBERS).unwrap();
    family.iter().map(|quorum| quorum.iter().fold(0, |mask, id| mask | 1 << id.0)).collect()
}

#[test]
fn any_two_quorums_meet_and_every_node_is_in_its_own() {
    for system in all_up_to(40) {
        let family = system.family(200_000);
        let mut quorums: Vec<Vec<NodeId>> = Vec::new();
        for id in system.group().members() {
            for turn in 0..system.turns() {
                let quorum = system.of_turn(id, turn);
                assert!(quorum.is_sorted_by(|a, b| a < b), "{system:?} {quorum:?}");
                assert!(quorum.iter().all(|&it| system.group().contains(it)));
                if let Some(family) = &family {
                    assert!(family.contains(&quorum), "{system:?}: {quorum:?} is no quorum");
                    let has_one = family.iter().any(|quorum| quorum.contains(&id));
                    let is_given = alloc::format!("{system:?}").contains("Sets");
                    let is_singleton = family.len() == 1 && family[0].len() == 1;
                    if !is_given && !is_singleton {
                        assert_eq!(quorum.contains(&id), has_one, "{system:?}: node {id}");
                    }
                }
                quorums.push(quorum);
            }
        }
        for one in &quorums {
            let meets = |other: &Vec<NodeId>| one.iter().any(|id| other.contains(id));
            assert!(quorums.iter().all(meets), "{system:?}");
        }
    }
}

#[test]
fn what_theory_says_is_what_the_definitions_say() {
    for system in all_up_to(12) {
        let nodes = system.group().size();
        let (known, masks) = (system.by.known(), masks(&system));
        let measured = properties(&system);
        let agrees = |name: &str, known: Option<bool>, is: bool, measured: Option<bool>| {
            assert_eq!(known.unwrap_or(is), is, "{name} of {system:?}");
            assert_eq!(measured, Some(is), "{name} of {system:?}");
        };
        let size = |mask: &u32| mask.count_ones();
        let (least, most) = (masks.iter().map(size).min(), masks.iter().map(size).max());
        for found in [known.smallest, measured.smallest].into_iter().flatten() {
            assert_eq!(Some(found as u32), least, "{system:?}");
        }
        for found in [known.largest, measured.largest].into_iter().flatten() {
            assert_eq!(Some(found as u32), most, "{system:?}");
        }
        let pairs = || {
            masks.iter().flat_map(|a| masks.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b)
        };
        assert_eq!(measured.intersecting, Some(true));
        assert!(pairs().all(|(a, b)| a & b != 0));
        let is_coterie = pairs().all(|(a, b)| a & b != a);
        agrees("coterie", known.coterie, is_coterie, measured.coterie);
        let degree = |id: u32| masks.iter().filter(|&mask| mask >> id & 1 == 1).count();
        let is_symmetric = least == most && (0..nodes).all(|id| degree(id) == degree(0));
        agrees("symmetric", known.symmetric, is_symmetric, measured.symmetric);
        let is_ideal = is_coterie
            && pairs().all(|(a, b)| (a & b).is_power_of_two())
            && (0..nodes).all(|id| degree(id) > 0);
        agrees("ideal", known.ideal, is_ideal, measured.ideal);
        // For every set of nodes, just one of it and the rest contains a quorum.
        let contains = |set: u32| masks.iter().any(|mask| mask & set == *mask);
        let every = (1_u32 << nodes) - 1;
        let is_nondominated =
            is_coterie && (0..=every).all(|set| contains(set) != contains(every ^ set));
        agrees("nondominated", known.nondominated, is_nondominated, measured.nondominated);
        let meets_all = |set: &u32| masks.iter().all(|mask| mask & set != 0);
        let transversal = (0..=every).filter(meets_all).map(u32::count_ones).min().unwrap();
        for found in [known.resilience, measured.resilience].into_iter().flatten() {
            assert_eq!(found, transversal - 1, "resilience of {system:?}");
        }
    }
}

#[test]
fn searches_find_what_there_is() {
    for system in all_up_to(12) {
        let (nodes, masks) = (system.group().size(), masks(&system));
        let contains = |set: u32| masks.iter().any(|mask| mask & set == *mask);
        let meets_all = |set: &u32| masks.iter().all(|mask| mask & set != 0);
        let mut meeting = (0..1_u32 << nodes).filter(meets_all);
        let family = system.family(MOST_MEMBERS).unwrap();
        match smallest_transversal(nodes, &family, u64::MAX) {
            Outcome::Found(set) => {
                let least = meeting.clone().map(u32::count_ones).min();
                assert_eq!(Some(set.len() as u32), least, "{system:?}");
            }
            it @ (Outcome::None | Outcome::OutOfSteps) => panic!("{it:?} of {system:?}"),
        }
        match dominating(nodes, &family, u64::MAX) {
            Outcome::Found(set) => {
                let set = set.iter().fold(0, |mask, id| mask | 1 << id.0);
                assert!(meets_all(&set) && !contains(set), "{system:?} {set:b}");
            }
            Outcome::None => assert!(meeting.all(contains), "{system:?}"),
            Outcome::OutOfSteps => panic!("there is no end to the steps"),
        }
        assert_eq!(dominating(nodes, &family, 0), Outcome::OutOfSteps);
    }
}

#[test]
fn a_live_quorum_is_found_if_there_is_one() {
    for system in all_up_to(10) {
        let family = system.family(MOST_MEMBERS).unwrap();
        for dead in 0..1_u32 << system.group().size() {
            let gone: NodeSet =
                system.group().members().filter(|id| dead >> id.0 & 1 == 1).collect();
            let alive = |quorum: &Vec<NodeId>| !quorum.iter().any(|&id| gone.contains(id));
            match system.live(&gone) {
                Some(quorum) => {
                    assert!(alive(&quorum) && family.contains(&quorum), "{system:?} {gone:?}");
                }
                None => assert!(!family.iter().any(alive), "{system:?} {gone:?}"),
            }
        }
    }
}

#[test]
fn formulas_give_the_chances_that_counting_gives() {
    for system in all_up_to(12) {
        let (nodes, masks) = (system.group().size(), masks(&system));
        for dead in [0.0, 0.1, 0.5, 0.7, 1.0] {
            let mut expected = 0.0;
            for alive in 0..1_u32 << nodes {
                if !masks.iter().any(|mask| mask & alive == *mask) {
                    let weight = |id: u32| if alive >> id & 1 == 1 { 1.0 - dead } else { dead };
                    expected += (0..nodes).map(weight).product::<f64>();
                }
            }
            let Failure::Exact(found) = failure(&system, dead, 1) else { panic!("{system:?}") };
            assert!((found - expected).abs() < 1e-12, "{system:?}: {found} for {expected}");
        }
        // Nobody knows better than by a toss of a coin what a non-dominated system does then.
        if let (Some(true), Failure::Exact(found)) =
            (properties(&system).nondominated, failure(&system, 0.5, 1))
        {
            assert!((found - 0.5).abs() < 1e-12, "{system:?}: {found}");
        }
    }
}

/// Name, nodes, smallest, largest, non-dominated, resilience, failure at a tenth; and the load if
/// theory has a formula for it: the table of the specification, all rows.
#[test]
fn the_reference_table_is_met() {
    type Row = (&'static str, u32, usize, usize, bool, Option<f64>, u32, f64);
    let rows: [Row; 17] = [
        ("singleton", 3, 1, 1, true, Some(1.0), 0, 0.1),
        ("all", 4, 4, 4, false, Some(1.0), 0, 0.3439),
        ("majority", 5, 3, 3, true, Some(3.0 / 5.0), 2, 0.00856),
        ("majority", 4, 3, 3, false, Some(3.0 / 4.0), 1, 0.0523),
        ("plane", 7, 3, 3, true, Some(3.0 / 7.0), 2, 0.006_810_4),
        ("plane", 13, 4, 4, false, Some(4.0 / 13.0), 3, 0.001_416_77),
        (SLIDES_13, 13, 4, 4, false, Some(4.0 / 13.0), 3, 0.001_416_77),
        ("grid", 9, 5, 5, false, Some(5.0 / 9.0), 2, 0.033_308_8),
        ("grid", 16, 7, 7, false, Some(7.0 / 16.0), 3, 0.024_889_1),
        ("triangle:columns", 15, 5, 5, false, None, 2, 0.035_408_0),
        ("triangle", 15, 5, 5, false, Some(1.0 / 3.0), 2, 0.021_839_8),
        ("wall:1,2,3", 6, 3, 3, true, None, 2, 0.00856),
        ("wall:1,3", 4, 2, 3, true, None, 1, 0.028),
        ("wall:1,2,2,2", 7, 2, 4, true, None, 1, 0.012_707_2),
        ("wall:2,3", 5, 3, 3, false, None, 1, 0.0523),
        ("tree", 3, 2, 2, true, Some(2.0 / 3.0), 1, 0.028),
        ("tree", 7, 3, 4, true, Some(1.0 / 2.0), 2, 0.006_227_2),
    ];
    for (text, nodes, smallest, largest, nondominated, load, resilience, fails) in rows {
        let system = system(text, nodes);
        let found = properties(&system);
        assert_eq!((found.smallest, found.largest), (Some(smallest), Some(largest)), "{text}");
        assert_eq!(found.nondominated, Some(nondominated), "{text} {nodes}");
        assert_eq!(found.resilience, Some(resilience), "{text} {nodes}");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            load.is_none_or(|load| found.least_load.is_some_and(|it| close(it, load))),
            "{text} {nodes}: {found:?}"
        );
        let Failure::Exact(chance) = failure(&system, 0.1, 1) else { panic!("{text} is small") };
        // The table has that many digits.
        assert!((chance - fails).abs() < 6e-8, "{text} {nodes}: {chance}");
    }
}

#[test]
fn planes_are_what_maekawa_asks_for() {
    for order in [2, 3, 4, 5, 7, 8, 9, 11] {
        let nodes = order * order + order + 1;
        let plane = system("plane", nodes);
        let Properties { smallest, largest, quorums, symmetric, ideal, assigned_load, .. } =
            properties(&plane);
        let size = order as usize + 1;
        assert_eq!((smallest, largest), (Some(size), Some(size)), "{order}");
        assert_eq!((quorums, symmetric, ideal), (Some(nodes as usize), Some(true), Some(true)));
        // In just as many of the S_i as each of them has members.
        assert_eq!(assigned_load, Some(size as f64 / f64::from(nodes)));
        for id in plane.group().members() {
            assert!(plane.of(id).contains(&id), "{id} of {nodes}");
        }
    }
}

#[test]
fn the_plane_of_the_textbooks_is_dominated_by_the_set_that_is_known() {
    let slides = own(SLIDES_13);
    let witness = ids(&[0, 1, 2, 4, 5, 7]);
    for id in slides.group().members() {
        let quorum = slides.of(id);
        assert!(quorum.contains(&id));
        assert!(quorum.iter().any(|it| witness.contains(it)));
        assert!(!quorum.iter().all(|it| witness.contains(it)));
    }
    let found = properties(&slides);
    assert_eq!((found.symmetric, found.ideal), (Some(true), Some(true)));
    assert_eq!(found.nondominated, Some(false));
}

#[test]
fn rows_have_all_nodes() {
    assert_eq!(system("grid", 7).rows(), Some(alloc::vec![3, 3, 1]));
    assert_eq!(system("triangle", 8).rows(), Some(alloc::vec![1, 2, 3, 2]));
    assert_eq!(system("tree", 9).rows(), Some(alloc::vec![1, 2, 4, 2]));
    for system in all_up_to(40) {
        let rows = system.rows();
        assert!(rows.is_none_or(|rows| rows.iter().sum::<u32>() == system.group().size()));
    }
}

#[test]
fn ten_thousand_nodes_in_a_grid_are_no_trouble() {
    let grid = system("grid", 10_000);
    assert_eq!(grid.of(NodeId(5_050)).len(), 199);
    let found = properties(&grid);
    assert_eq!((found.smallest, found.largest), (Some(199), Some(199)));
    assert_eq!((found.coterie, found.resilience), (Some(true), Some(99)));
    assert_eq!(found.least_load, Some(0.0199));
    // A million are not measured, and their quorums are made one by one.
    let grid = system("grid", 1_000_000);
    assert_eq!(grid.of(NodeId(999_999)).len(), 1999);
    let found = properties(&grid);
    assert_eq!((found.quorums, found.least_load), (None, Some(0.001_999)));
}

#[test]
fn the_quorums_of_a_triangle_are_those_of_the_paper() {
    let (columns, rows) = (system("triangle:columns", 15), system("triangle:rows", 15));
    let both = system("triangle", 15);
    // Node 8 of the paper, in row 4 and column 2.
    assert_eq!(columns.of(NodeId(7)), ids(&[0, 2, 4, 7, 11]));
    assert_eq!(rows.of(NodeId(7)), ids(&[6, 7, 8, 9, 14]));
    for turn in 0..4 {
        let expected = if turn % 2 == 0 { &columns } else { &rows };
        assert_eq!(both.of_turn(NodeId(7), turn), expected.of(NodeId(7)));
    }
    // In turn, every node is asked equally often: 2 k of 2 n times. By columns, node 0 is asked in
    // 9 of 15 and the last node in 1.
    assert_eq!(properties(&both).assigned_load, Some(10.0 / 30.0));
    assert_eq!(properties(&columns).assigned_load, Some(9.0 / 15.0));
    let asks = |id| columns.group().members().filter(|&it| columns.of(it).contains(&id)).count();
    assert_eq!((asks(NodeId(0)), asks(NodeId(14))), (9, 1));
}

#[test]
fn a_tree_replaces_its_dead() {
    let tree = system("tree", 7);
    let live = |dead: &[u32]| tree.live(&ids(dead).into_iter().collect());
    assert_eq!(tree.of(NodeId(4)), ids(&[0, 1, 4]));
    assert_eq!(live(&[]), Some(ids(&[0, 1, 3])));
    assert_eq!(live(&[0]), Some(ids(&[1, 2, 3, 5])));
    assert_eq!(live(&[1]), Some(ids(&[0, 3, 4])));
    assert_eq!(live(&[1, 2]), Some(ids(&[0, 3, 4])));
    assert_eq!(live(&[0, 1]), Some(ids(&[2, 3, 4, 5])));
    assert_eq!(live(&[0, 1, 3]), None);
}

#[test]
fn a_wall_as_wide_as_a_logarithm_has_small_quorums() {
    use super::wall::logarithmic;
    assert_eq!(logarithmic(1), [1]);
    assert_eq!(logarithmic(3), [1, 2]);
    assert_eq!(logarithmic(10), [1, 2, 3, 4]);
    for nodes in 1..500 {
        let widths = logarithmic(nodes);
        assert_eq!(widths.iter().sum::<u32>(), nodes);
        assert!(widths[1..].iter().all(|&width| width > 1), "{widths:?}");
    }
    let found = properties(&system("wall", 10_000));
    assert_eq!((found.smallest, found.nondominated), (Some(12), Some(true)));
}

#[test]
fn what_is_too_large_is_unknown_and_not_waited_for() {
    let majority = properties(&system("majority", 1_000_001));
    assert_eq!((majority.quorums, majority.nondominated), (None, Some(true)));
    assert_eq!(majority.resilience, Some(500_000));
    let weights: Vec<_> = (1..200_u32).map(|it| (it * 7919 % 1009).to_string()).collect();
    let weighted = properties(&own(&alloc::format!("weighted:{}", weights.join(","))));
    assert_eq!((weighted.largest, weighted.symmetric), (None, None));
    assert!(weighted.smallest.is_some());
    let equal = alloc::format!("weighted:2{}", ",1".repeat(9_999));
    let equal = properties(&own(&equal));
    assert_eq!((equal.smallest, equal.nondominated), (Some(5_000), Some(true)));
    assert_eq!((equal.resilience, equal.assigned_load), (Some(4_999), None));
    assert_eq!(properties(&system("tree", 1023)).quorums, None);
    // A triangle that is not full, of which theory says nothing.
    let triangle = properties(&system("triangle", 5_000));
    assert_eq!(triangle.intersecting, Some(true));
    assert_eq!(properties(&system("plane", 10_303)).resilience, Some(101));
}

#[test]
fn a_drawn_chance_is_near_the_true_one_and_the_same_for_the_same_seed() {
    let grid = system("grid", 49);
    let Failure::Drawn { failed, samples } = failure(&grid, 0.1, 7) else {
        panic!("too large to be counted")
    };
    assert_eq!(failure(&grid, 0.1, 7), Failure::Drawn { failed, samples });
    assert_ne!(failure(&grid, 0.1, 8), Failure::Drawn { failed, samples });
    // All rows and all columns of 7 by inclusion and exclusion.
    let choose = [1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0];
    let mut alive = 0.0;
    for (rows, some) in (0_u32..).zip(choose).skip(1) {
        for (columns, others) in (0_u32..).zip(choose).skip(1) {
            let sign = if (rows + columns) % 2 == 0 { 1.0 } else { -1.0 };
            alive +=
                sign * some * others * super::power(0.9, 7 * (rows + columns) - rows * columns);
        }
    }
    let found = failed as f64 / samples as f64;
    // Five standard errors.
    assert!((found - (1.0 - alive)).abs() < 0.006, "{found} for {}", 1.0 - alive);
}

#[test]
fn what_is_usual_is_the_plane_if_there_is_one() {
    let usual = |nodes| Quorums::usual(Group::of(nodes));
    for nodes in [7, 13, 21, 31, 57, 73, 91, 133, 98_283] {
        assert_eq!(usual(nodes), Quorums::Plane, "{nodes}");
    }
    // 43 would be of order 6; 102 061 is a plane that would take too long to build.
    for nodes in [1, 2, 3, 4, 6, 8, 12, 14, 43, 10_000, 102_061, 1_000_000, u32::MAX] {
        assert_eq!(usual(nodes), Quorums::Grid, "{nodes}");
    }
    for nodes in 1..200 {
        usual(nodes).system(Group::of(nodes)).unwrap();
    }
}

#[test]
fn a_node_takes_its_quorums_in_turn() {
    let group = Group::of(15);
    let system = |text: &str| text.parse::<Quorums>().unwrap().system(group).unwrap();
    let mut schedule = system("triangle").schedule(NodeId(7));
    for text in ["triangle:columns", "triangle:rows", "triangle:columns"] {
        assert_eq!(schedule.quorum(), system(text).of(NodeId(7)), "{text}");
        schedule.turn();
    }
    let mut schedule = system("grid").schedule(NodeId(7));
    let before = schedule.clone();
    schedule.turn();
    assert_eq!(schedule, before, "there is one only");
}

#[test]
fn those_who_ask_may_be_others_than_those_who_are_asked() {
    let quorums: Quorums = "sets:3-4,3-4,3-4,3-4,3-4".parse().unwrap();
    let system = quorums.system(Group::of(5)).unwrap();
    assert_eq!(system.of(NodeId(0)), [NodeId(3), NodeId(4)]);
}
