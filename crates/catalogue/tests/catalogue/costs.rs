//! What the cards say that entries cost, written down: a span that is loosened, so that a wrong
//! measurement would fit, shows here.

use std::fmt::Write as _;
use std::path::Path;

use vorrang_algorithms::mutex::Mutex;
use vorrang_algorithms::mutex::card::{Load, Setting};
use vorrang_catalogue::cards;
use vorrang_protocol::Group;
use vorrang_testkit::compare_or_rewrite;

#[test]
fn costs_are_as_they_were_written_down() {
    let mut found = String::new();
    for card in cards::<Mutex>() {
        for nodes in [1, 13] {
            for load in [Load::Light, Load::Heavy] {
                let setup = card.setup(Group::of(nodes));
                for contenders in [nodes, 2.min(nodes)] {
                    let setting = Setting { contenders, ..Setting::new(card, &setup, load) };
                    for cost in card.theory {
                        let span = (cost.span)(&setting);
                        let typical = span.typical.map_or("-".to_owned(), |it| format!("{it:.4}"));
                        writeln!(
                            found,
                            "{} N={nodes} asking={contenders} {load:?} {}: {:.4} {typical} {:.4}",
                            card.name, cost.of.key, span.low, span.high
                        )
                        .expect("a string takes all");
                    }
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/costs.txt");
    compare_or_rewrite(&path, &found);
}
