//! What all tests need: groups in this process, and bounded waiting.

use std::future::Future;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use vorrang_lock::{Config, Group, MemberAddress};
use vorrang_testkit::Folder;

/// Bounds hanging, nothing else.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let outcome = timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// Members that are to be started, each with its listener.
pub(crate) struct Places(pub(crate) Vec<(TcpListener, Config)>);

impl Places {
    /// So many founders on free ports of this machine, called a, b, c.
    pub(crate) async fn new(founders: usize, config: &Config) -> Self {
        let (mut listeners, mut members) = (Vec::new(), Vec::new());
        for name in ["a", "b", "c", "d", "e"].into_iter().take(founders) {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            members.push(MemberAddress { name: name.to_owned(), address, http: None });
            listeners.push(listener);
        }
        let of = |member: &MemberAddress| Config {
            name: Some(member.name.clone()),
            members: members.clone(),
            ..config.clone()
        };
        let configs: Vec<Config> = members.iter().map(of).collect();
        Self(listeners.into_iter().zip(configs).collect())
    }

    /// The same, and they keep what they must not forget in this folder.
    pub(crate) async fn with_data(founders: usize, config: &Config, folder: &Folder) -> Self {
        let mut places = Self::new(founders, config).await;
        for (_, config) in &mut places.0 {
            config.data = Some(folder.file(config.own_name()));
        }
        places
    }

    pub(crate) async fn start(self) -> Vec<Group> {
        let mut groups = Vec::new();
        for (listener, config) in self.0 {
            groups.push(Group::start_with(listener, config).await.unwrap());
        }
        groups
    }
}

/// Without leases, so that nobody waits for one; and on a machine that is busy nobody is suspected.
/// Founders wait for as long as that takes.
pub(crate) fn patient() -> Config {
    let (beat, margin) = (Duration::from_millis(100), Duration::from_secs(3));
    Config { lease: None, beat, margin, ..Config::default() }
}

/// A group of so many, all in one view.
pub(crate) async fn group(founders: usize, config: &Config) -> Vec<Group> {
    let groups = Places::new(founders, config).await.start().await;
    for group in &groups {
        together(group, founders).await;
    }
    groups
}

/// Waits until a member is in a view of so many.
pub(crate) async fn together(group: &Group, members: usize) {
    let mut changes = group.changes();
    let is_so = |it: &vorrang_lock::Members| {
        it.is_in && it.members.iter().filter(|it| it.is_in_view).count() == members
    };
    soon("a view", changes.wait_for(is_so)).await.unwrap();
}
