//! What goes together, and what a member is by what it was told.

use std::time::Duration;

use vorrang_algorithms::group::named::{LONGEST_NAME, Name};
use vorrang_algorithms::mutex::card::Card;
use vorrang_algorithms::mutex::spec::Admission;
use vorrang_algorithms::mutex::{Claim, Mutex};
use vorrang_catalogue::on_views::NewNode;
use vorrang_catalogue::{Catalogued as _, Entry, cards};
use vorrang_protocol::WallTime;

use super::values::{is_address, is_on_this_machine, nearest};
use super::{Config, ConfigError, unfit};

/// What the member is in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// One of so many founders: this one.
    Founder(usize),
    /// The only founder, without a list of members.
    Alone,
    /// One that joins those who are there.
    Newcomer,
}

/// Makes the nodes of an algorithm, for views of every size.
type BySize = Vec<NewNode>;

impl Config {
    /// Whether all goes together.
    ///
    /// # Errors
    ///
    /// If it does not: with the keys that do not fit, and what to do about it.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_names()?;
        self.check_times()?;
        self.check_addresses()?;
        self.role()?;
        self.by_size().map(|_| ())
    }

    fn check_names(&self) -> Result<(), ConfigError> {
        let given = self.name.iter().map(|it| ("name", it));
        let listed = self.members.iter().map(|it| ("member.name", &it.name));
        let clients = self.clients.iter().map(|it| ("client.name", &it.name));
        for (key, name) in
            [("group", &self.group)].into_iter().chain(given).chain(listed).chain(clients)
        {
            if let Err(why) = Name::new(name) {
                let name: String = name.chars().take(LONGEST_NAME).collect();
                return unfit(format!("{key} = \"{}\": {why}", name.escape_debug()));
            }
        }
        for (place, member) in self.members.iter().enumerate() {
            let before = &self.members[..place];
            if before.iter().any(|it| it.name == member.name) {
                return unfit(format!("two members are called \"{}\"", member.name));
            }
            if let Some(other) = before.iter().find(|it| it.address == member.address) {
                let (one, two, address) = (&other.name, &member.name, &member.address);
                return unfit(format!(
                    "members \"{one}\" and \"{two}\" have one address, {address}"
                ));
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let shown = |time: Duration| WallTime(time);
        if let Some(lease) = self.lease {
            let least = self.grace.saturating_add(self.beat.saturating_mul(2));
            if lease < least {
                return unfit(format!(
                    "lease = \"{}\" is too short: it is renewed with every beat ({}) and lost to \
                     clients {} (grace) before its end, so it takes {} at least",
                    shown(lease),
                    shown(self.beat),
                    shown(self.grace),
                    shown(least)
                ));
            }
        }
        if let Some(most) = self.max_hold.filter(|most| *most <= self.grace) {
            return unfit(format!(
                "max-hold = \"{}\" is too short: clients are warned {} (grace) before",
                shown(most),
                shown(self.grace)
            ));
        }
        if self.members.len() > self.room as usize {
            let (room, members) = (self.room, self.members.len());
            return unfit(format!("room = {room} is too small for {members} members"));
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), ConfigError> {
        let members = self.members.iter().map(|it| ("member.address", &it.address));
        let own = self.address.iter().map(|it| ("address", it));
        let join = self.join.iter().map(|it| ("join", it));
        for (key, address) in members.chain(own).chain(join) {
            if !is_address(address) {
                return unfit(format!(
                    "{key} = \"{}\" is no address: write HOST:PORT, as in 127.0.0.1:7400",
                    address.escape_debug()
                ));
            }
            if self.tls.is_none() && !is_on_this_machine(address) {
                return unfit(format!(
                    "{key} = \"{address}\" is not on this machine, and without keys everybody who \
                     reaches a member can pose as one: give [tls] authority, certificate and key, \
                     or use addresses such as 127.0.0.1:7400"
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn role(&self) -> Result<Role, ConfigError> {
        let names = || self.members.iter().map(|it| it.name.as_str());
        let place = self.name.as_deref().and_then(|own| names().position(|it| it == own));
        let list = || names().collect::<Vec<_>>().join(", ");
        match (place, self.members.is_empty(), self.join.is_empty()) {
            (Some(_), ..) if self.address.is_some() => unfit(
                "address is for those who are not in the list of members: that of a member stands \
                 there"
                    .to_owned(),
            ),
            (Some(place), ..) => Ok(Role::Founder(place)),
            (None, true, true) => Ok(Role::Alone),
            (None, _, false) if self.address.is_none() => {
                unfit("join needs an address as well: where the others find this member".to_owned())
            }
            (None, _, false) => Ok(Role::Newcomer),
            (None, false, true) => match &self.name {
                None => {
                    unfit(format!("name is missing: which of the members is this ({})?", list()))
                }
                Some(own) => unfit(format!(
                    "name = \"{own}\" is none of the members ({}): mend it, or join them by the \
                     address of one, as in join = [\"{}\"]",
                    list(),
                    self.members[0].address
                )),
            },
        }
    }

    /// The algorithm.
    fn entry(&self) -> Result<&'static Entry<Mutex>, ConfigError> {
        let name = self.algorithm.as_str();
        let found = Mutex::entries().iter().find(|it| it.card.name == name && it.flaw.is_none());
        let found = found.ok_or_else(|| {
            let fits = cards::<Mutex>().into_iter().filter(|card| self.why_not(card).is_none());
            let fits: Vec<&str> = fits.map(|card| card.name).collect();
            let hint = match nearest(name, fits.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are {}", fits.join(", ")),
            };
            let name = name.escape_debug();
            ConfigError::Unfit(format!("algorithm = \"{name}\" is not known: {hint}"))
        })?;
        match self.why_not(found.card) {
            None => Ok(found),
            Some(why) => unfit(format!("algorithm = \"{name}\" does not fit: {why}")),
        }
    }

    /// Why an algorithm cannot run the locks, if it cannot.
    fn why_not(&self, card: &Card) -> Option<&'static str> {
        let claims = card.terms.claims;
        if card.assumes.timely {
            return Some(
                "it assumes a bound on the time that messages take, which does not hold where \
                 connections are made anew",
            );
        }
        if matches!((card.terms.admission)(&self.setup()), Admission::UpTo(_)) {
            return Some("it lets several in at a time");
        }
        if !claims.contains(&Claim::Exclusive) {
            return Some("it grants no exclusive locks");
        }
        None
    }

    /// What makes the nodes of the algorithm, in views of every size.
    pub(crate) fn by_size(&self) -> Result<BySize, ConfigError> {
        let nodes = self.entry()?.in_every_view(&self.setup());
        nodes.map_err(|(members, why)| {
            let name = &self.algorithm;
            let why = format!("algorithm = \"{name}\" does not fit in a view of {members}: {why}");
            ConfigError::Unfit(why)
        })
    }
}
