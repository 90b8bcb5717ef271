//! Members and voters, changed by hand.

use vorrang_algorithms::group::named::{Command, LONGEST_NAME};
use vorrang_algorithms::group::voters::{
    ALL_VOTE, NO_MEMBER, NOT_A_MEMBER, NOT_THERE, ONLY_MEMBER, ONLY_VOTER, VOTES_ALREADY,
};
use vorrang_net::CommandError;
use vorrang_protocol::NodeId;

use crate::error::LockError;
use crate::group::Group;
use crate::members::{MemberInfo, Members};

impl Group {
    /// Has the group go on without a member as it is now, and returns when it has: whatever its
    /// clients hold is lost, and passes on when its lease is over; where there is a data directory,
    /// it votes no more. A member that is silent is evicted without that, but keeps its vote.
    ///
    /// If it is up, it finds out, and comes in again: as one that has no vote, until it is
    /// [added](Self::add_voter). So stop it where it runs if it is to stay away.
    ///
    /// This takes the agreement of a majority: while there is none it waits, and if it is dropped,
    /// the member is evicted when there is one.
    ///
    /// # Errors
    ///
    /// If there is no such member, it is the only one or the only one that votes, or this member
    /// does not belong to the group.
    pub async fn evict(&self, name: &str) -> Result<(), LockError> {
        let before = self.named(name)?;
        let id = before.id;
        match self.change(Command::Evict(NodeId(id))).await {
            // It is out already, and has no vote.
            Err(CommandError::Refused(NOT_THERE)) => return Ok(()),
            outcome => outcome.map_err(|error| self.why_unchanged(error, name))?,
        }
        let keeps_votes = self.config().data.is_some();
        let is_out = |it: &MemberInfo| {
            let is_another = it.life.is_none() || it.life != before.life;
            is_another && !(keeps_votes && it.is_voter)
        };
        self.becomes(id, is_out).await
    }

    /// Lets a member vote from the next view on, with the data directory that it has now: one that
    /// has joined, or one whose directory was lost, instead of that. Returns when it does.
    ///
    /// As [`evict`](Self::evict) it takes the agreement of a majority: of the voters as they are,
    /// and of those that there will be.
    ///
    /// # Errors
    ///
    /// If it is not there, this member does not belong to the group, or the group keeps nothing on
    /// disk: then all of its members vote.
    pub async fn add_voter(&self, name: &str) -> Result<(), LockError> {
        let id = self.named(name)?.id;
        match self.change(Command::AddVoter(NodeId(id))).await {
            Err(CommandError::Refused(VOTES_ALREADY)) => return Ok(()),
            outcome => outcome.map_err(|error| self.why_unchanged(error, name))?,
        }
        self.becomes(id, |it| it.is_voter && !it.has_lost_vote).await
    }

    /// The member of this name.
    fn named(&self, name: &str) -> Result<MemberInfo, LockError> {
        let found = self.members().members.into_iter().find(|it| it.name == name);
        let shortened = || name.chars().take(LONGEST_NAME).collect();
        found.ok_or_else(|| LockError::NotAMember(shortened()))
    }

    async fn change(&self, command: Command) -> Result<(), CommandError> {
        self.member.handle.command(command).await
    }

    /// Waits until a member stands so.
    async fn becomes(&self, id: u32, is_so: impl Fn(&MemberInfo) -> bool) -> Result<(), LockError> {
        let mut changes = self.changes();
        let is_over = |it: &Members| {
            // One that is not shown is neither a member nor a voter.
            it.stopped.is_some() || it.members.iter().find(|it| it.id == id).is_none_or(&is_so)
        };
        let ended = changes.wait_for(is_over).await.map_or(true, |it| it.stopped.is_some());
        if ended { Err(self.member.why_over()) } else { Ok(()) }
    }

    fn why_unchanged(&self, error: CommandError, name: &str) -> LockError {
        let CommandError::Refused(refused) = error else { return LockError::of_change(error) };
        let why = match refused {
            NO_MEMBER => {
                let why = self.members().trouble;
                let why = why.unwrap_or_else(|| "this member belongs to no view".to_owned());
                return LockError::Outside(why);
            }
            ONLY_MEMBER => format!("'{name}' is the only member of the group"),
            ONLY_VOTER => format!(
                "'{name}' is the only member that votes, and without one no view follows: add \
                 another one first"
            ),
            ALL_VOTE => format!(
                "'{name}' needs no vote: this group keeps nothing on disk (data), so all of its \
                 members vote"
            ),
            NOT_A_MEMBER => format!(
                "'{name}' cannot vote: it does not belong to the view, or has not been heard yet; \
                 start it, and let it come in first"
            ),
            other => other.to_string(),
        };
        LockError::Refused(why)
    }
}
