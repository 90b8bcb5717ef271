//! Ports for programs that a test starts, and that bind them later.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::process;
use std::sync::{Mutex, PoisonError};

/// The ports that are handed out: below those that systems give to whoever asks for any, so that
/// no connection has one by chance between now and its use.
const FIRST: u16 = 10_000;
/// How many a process takes at a time.
const BLOCK: u16 = 100;
/// How many times so many there are.
const BLOCKS: u16 = 200;

/// A number of ports that are this process's, as long as it has the first of them for datagrams:
/// nobody else among those who take theirs here has it then.
struct Block {
    _mine: UdpSocket,
    ports: std::ops::Range<u16>,
}

static BLOCK_IN_USE: Mutex<Option<Block>> = Mutex::new(None);

/// Keeps what is used up: programs may still listen there.
static USED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// So many addresses of this machine at which nobody listens. No two calls have one in common,
/// whether of this process or of another test that runs at the same time.
///
/// # Panics
///
/// If all are taken.
pub fn addresses(count: usize) -> Vec<String> {
    let mut block = BLOCK_IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut addresses = Vec::with_capacity(count);
    while addresses.len() < count {
        match block.as_mut().and_then(|it| it.ports.next()) {
            Some(port) if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() => {
                addresses.push(format!("127.0.0.1:{port}"));
            }
            Some(_) => {}
            None => {
                let used = block.replace(another_block());
                USED.lock().unwrap_or_else(PoisonError::into_inner).extend(used);
            }
        }
    }
    addresses
}

fn another_block() -> Block {
    // Processes begin to look at different places.
    let begin = process::id() % u32::from(BLOCKS);
    let bases = (0..BLOCKS).map(|it| FIRST + (begin as u16 + it) % BLOCKS * BLOCK);
    let take = |base: u16| {
        let mine = UdpSocket::bind((Ipv4Addr::LOCALHOST, base)).ok()?;
        Some(Block { _mine: mine, ports: base + 1..base + BLOCK })
    };
    bases.into_iter().find_map(take).expect("there are ports that nobody else uses")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_address_is_handed_out_twice_and_somebody_can_listen_at_each() {
        // More than a block has.
        let all: Vec<String> = (0..3).flat_map(|_| addresses(70)).collect();
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), 210);
        let listeners = all.iter().filter(|it| TcpListener::bind(it.as_str()).is_ok());
        assert_eq!(listeners.count(), 210);
    }

    #[test]
    fn a_block_belongs_to_one_process() {
        let (one, other) = (another_block(), another_block());
        assert_ne!(one.ports, other.ports);
    }
}
