//! Ordering, the property about cause: a request that happened before another enters first.

use crate::support;

use support::{ricart_agrawala, verified};
use vorrang_algorithms::mutex::spec::{Exclusion, HappenedBefore};
use vorrang_check::Order;

#[test]
fn ricart_agrawala_lets_requests_enter_in_the_order_in_which_they_happened() {
    let verified = |entries: &[u32], order| {
        let monitor = (Exclusion::default(), HappenedBefore::default());
        verified(&ricart_agrawala(entries, order, monitor))
    };
    assert_eq!(verified(&[1, 1, 1], Order::Any), (7_614, 23_738, 18));
    assert_eq!(verified(&[1, 1, 1], Order::Fifo), (4_604, 11_864, 18));
    assert_eq!(verified(&[2, 2, 2], Order::Any), (429_562, 1_575_029, 36));
    assert_eq!(verified(&[2, 2, 2], Order::Fifo), (146_011, 423_116, 36));
}
