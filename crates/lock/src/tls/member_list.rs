//! Which members there are, under which ids and addresses.

use vorrang_net::Claim;

use crate::config::Config;

/// The members of a group: those whose certificates are accepted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemberList {
    listed: Vec<Listed>,
    /// The first so many have their places as ids; ids of others are given to them as they come.
    founders: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Listed {
    name: String,
    address: String,
}

impl MemberList {
    /// The names and addresses of founders. The first is node 0, the second node 1, and so on.
    pub fn new<N: Into<String>, A: Into<String>>(
        members: impl IntoIterator<Item = (N, A)>,
    ) -> Self {
        let listed =
            |(name, address): (N, A)| Listed { name: name.into(), address: address.into() };
        let listed: Vec<Listed> = members.into_iter().map(listed).collect();
        Self { founders: listed.len(), listed }
    }

    /// Those of a configuration: the founders in their order, this member if it is none of them,
    /// and those who may join. The latter are known by their addresses.
    pub fn of(config: &Config) -> Self {
        let mut list = Self::new(config.members.iter().map(|it| (&*it.name, &*it.address)));
        let own = (config.own_name(), config.address.as_deref().unwrap_or_default());
        let newcomers = config.tls.iter().flat_map(|tls| &tls.newcomers);
        let newcomers = newcomers.map(|(name, address)| (name.as_str(), address.as_str()));
        for (name, address) in std::iter::once(own).chain(newcomers) {
            if !list.has(name) {
                list.listed.push(Listed { name: name.to_owned(), address: address.to_owned() });
            }
        }
        list
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.listed.iter().any(|it| it.name == name)
    }

    /// The name of the member that is claimed.
    pub(crate) fn expected(&self, claim: Claim<'_>) -> Option<&str> {
        let founders = &self.listed[..self.founders];
        let by_id = claim.node.and_then(|node| founders.get(node.index()));
        let by_address = || self.listed.iter().find(|it| it.address == claim.address);
        by_id.or_else(by_address).map(|it| it.name.as_str())
    }

    /// All names, for people.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.listed.iter().map(|it| it.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vorrang_protocol::NodeId;

    use super::*;

    #[test]
    fn founders_are_known_by_their_ids_and_others_by_their_addresses() {
        let list = MemberList::new([("a", "h:1"), ("b", "h:2"), ("c", "h:3")]);
        let expected =
            |node: Option<u32>, address| list.expected(Claim { node: node.map(NodeId), address });
        assert_eq!(expected(Some(1), "h:2"), Some("b"));
        assert_eq!(
            expected(Some(1), "h:3"),
            Some("b"),
            "a member may move, and is still who it is"
        );
        assert_eq!(expected(Some(7), "h:3"), Some("c"));
        assert_eq!(expected(None, "h:1"), Some("a"));
        assert_eq!((expected(None, "h:9"), expected(Some(3), "")), (None, None));
        assert!(list.has("a") && !list.has("d") && !list.has(""));
        // Ids are given to newcomers as they come, and not in the order of any list.
        let config = Config::parse(
            "name = 'e'\naddress = 'h:5'\njoin = ['h:1']\n[[member]]\nname = 'a'\n\
             address = 'h:1'\n[tls]\nnewcomers = ['d=h:4', 'e=h:5']",
            Path::new(""),
        );
        let newcomers = MemberList::of(&config.expect("it can be read"));
        let expected =
            |node: u32, address| newcomers.expected(Claim { node: Some(NodeId(node)), address });
        assert_eq!((expected(1, "h:4"), expected(2, "h:5")), (Some("d"), Some("e")));
        assert_eq!((expected(2, "h:4"), expected(1, "h:5")), (Some("d"), Some("e")));
        assert_eq!((expected(0, "h:4"), expected(1, "h:9")), (Some("a"), None));
        assert_eq!(list.names(), "a, b, c");
    }
}
