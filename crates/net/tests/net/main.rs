//! Real nodes over real sockets on loopback, with whatever can go wrong between them.
#![forbid(unsafe_code)]

mod contention;
mod counting;
mod discovery_agreement;
mod faulty;
mod giving_up;
mod half_open;
mod hostile;
mod incarnations;
mod mutated;
mod open_group;
mod refusals;
mod returning;
mod storage;
mod strangers;
mod strangers_on_views;
mod support;
mod timing;
mod udp;
mod udp_discovery;
mod udp_multicast;
mod udp_strays;
mod udp_support;
