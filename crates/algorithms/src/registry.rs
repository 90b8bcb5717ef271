//! Every algorithm and every mistake, a line each: the one place where names become types.
//!
//! Past it, everything is generic. A [`Register`] is shown all algorithms of a problem.

use crate::card::Card;
use crate::detection::Detection;
use crate::detection::flaws::{FirstAwaitedForEver, LearnsNothing, NeverRecovers};
use crate::detection::heartbeat::{self, Heartbeat};
use crate::election::bully::{self, Bully};
use crate::election::chang_roberts::{self, ChangRoberts};
use crate::election::flaws::bully::{self as bully_flaws, NumberForgotten, Unguarded, Unnumbered};
use crate::election::flaws::bus_reset::{EarlyLost, ResetNotFlooded, StaleGeneration};
use crate::election::flaws::chang_roberts::LowerOnesPass;
use crate::election::flaws::echo_election::{
    self as echo_election_flaws, FirstWaveStays, LowerWavesAnswered,
};
use crate::election::flaws::ring_election::{DeadNotSkipped, ResultNotSpread};
use crate::election::flaws::tree_election::{EqualWaits, NoLeafIsRoot, StaleBeMyParent};
use crate::election::flaws::watching::NobodyCalls;
use crate::election::ring_election::{self, RingElection};
use crate::election::watching::Watching;
use crate::election::{
    Election, bus_reset, echo_election, tree_election, watching_bully, watching_ring,
};
use crate::group::flaws::{
    AcrossTheBarrier, Misjudgement, NoFreeze, StaleView, deciding, mistaken,
};
use crate::group::view_leader::{self, ViewLeader};
use crate::group::{GroupCommunication, virtual_synchrony};
pub use crate::listing::{Listed, Register, unknown};
use crate::multicast::ack::Ack;
use crate::multicast::flaws::{
    CausalByFifoOnly, DeliveredBeforeStable, EVERY_GAP_IS_ASKED_FOR, FreedWhenOneHasIt,
    GapNotReported, GoneNotSaid, NeverRemoved, NeverWidened, NoDuplicateFilter, NoIgnoreInterval,
    NoSessions, ONE_BACK_OFF, StaleIncarnation, SuppressedForEver,
};
use crate::multicast::nack::Nack;
use crate::multicast::srm::Srm;
use crate::multicast::{self, Multicast, ack, nack, srm};
use crate::mutex::carvalho_roucairol::{self, CarvalhoRoucairol};
use crate::mutex::central::{self, Central};
use crate::mutex::flaws::cao_singhal::{
    self as cao_singhal_flaws, EarlyInquireDropped, EarlyReleaseDropped, NoEpochs,
};
use crate::mutex::flaws::cao_singhal_fallback as handed_on;
use crate::mutex::flaws::carvalho_roucairol::NoReRequest;
use crate::mutex::flaws::central::{AlwaysDenied, AlwaysGranted, LastComeFirstServed};
use crate::mutex::flaws::echo_lift::{LatestEdge, WishForgotten};
use crate::mutex::flaws::elected_lift::{EveryoneStarts, ResultSuffices};
use crate::mutex::flaws::group_exclusion::ClassesNotCompared;
use crate::mutex::flaws::k_exclusion::{DebtsForgotten, ReplyCountsOnce};
use crate::mutex::flaws::lamport::{AnyWordWillDo, AsItIs, CopiesStampedApart};
use crate::mutex::flaws::lift::lowest_first;
use crate::mutex::flaws::maekawa::{
    self as maekawa_flaws, AnsweredBeforeLocked, GivenBackForgotten, InquiryOutlivesRequest,
    OneFlagForAll, OneInquiryAnswered, OvertakenNotTold,
};
use crate::mutex::flaws::maekawa_fallback::{
    ArbiterForgets, DeadMembersDropped, RestartUnheeded, WaitsForTheDead,
};
use crate::mutex::flaws::majority_votes::{Amnesia, AnsweredBeforeVoted, VotesForAll, VotesKept};
use crate::mutex::flaws::majority_votes_timely::{
    AmnesiaInTime, InsideAndSilent, NeverWithdrawn, WithdrawnUnasked,
};
use crate::mutex::flaws::raymond::{
    self as raymond_flaws, EdgeNotTurned, GivenAwayInside, RequestForgotten,
};
use crate::mutex::flaws::readers_writers::{ReadersPassWaitingWriters, ReadersPreference};
use crate::mutex::flaws::regenerating::{AskedOnce, NoGeneration};
use crate::mutex::flaws::resource_sets::OneAfterTheOther;
use crate::mutex::flaws::ricart_agrawala::{
    ClockNotAdvanced, DeferredNeverCleared, Majority, NoTieBreak, RepliesCarryNoClock, StampLowered,
};
use crate::mutex::flaws::ricart_agrawala_probing::{
    ClockForgotten, NeverHeardOfAgain, PutOffForEver,
};
use crate::mutex::flaws::sanders::NoWayBack;
use crate::mutex::flaws::singhal::{
    AsPublished, InsideAsIfIdle, LastAskerOnly, NoReSend, OlderBelieved, StaircaseBelieved,
};
use crate::mutex::flaws::suzuki_kasami::{
    EveryoneIsQueued, OutdatedRequestsServed, QueueLeftBehind, RequestsMissedInside, TokenDoubled,
    TokenLost,
};
use crate::mutex::flaws::talkative::talkative;
use crate::mutex::flaws::token_ring::{
    KeptUntilWanted, NoAgeing, NoCommonOrder, TimerNotCancelled,
};
use crate::mutex::flaws::total_order::{self as total_order_flaws, OldRequestCounts};
use crate::mutex::k_exclusion::{self, KExclusion};
use crate::mutex::lamport::{self, Lamport};
use crate::mutex::lemmas::singhal_order::{NoMistake, dated};
use crate::mutex::maekawa::{self, Maekawa};
use crate::mutex::maekawa_basic::{self, MaekawaBasic};
use crate::mutex::majority_votes::{self, MajorityVotes};
use crate::mutex::majority_votes_timely::{self, MajorityVotesTimely};
use crate::mutex::raymond::{self, Raymond};
use crate::mutex::readers_writers::{self, ClaimedExclusion};
use crate::mutex::regenerating::{Regenerating, Renewable};
use crate::mutex::ricart_agrawala::{self, RicartAgrawala};
use crate::mutex::ricart_agrawala_probing::{self, RicartAgrawalaProbing};
use crate::mutex::singhal::{self, Singhal};
use crate::mutex::stamps::{self, remembering};
use crate::mutex::suzuki_kasami::{self, SuzukiKasami};
use crate::mutex::token_ring::{self, TokenRing};
use crate::mutex::{
    Mutex, cao_singhal, cao_singhal_fallback, echo_lift, elected_lift, group_exclusion, lemmas,
    lift, maekawa_fallback, resource_sets, sanders, total_order,
};
use crate::mutex::{regenerating_raymond, regenerating_ring, regenerating_suzuki_kasami};
pub use crate::recipe::{Node, Recipe, of_group, of_quorums, of_setup};
use crate::wave::Wave;
use crate::wave::dijkstra_scholten;
use crate::wave::echo;
use crate::wave::echo_taboo;
use crate::wave::flaws::{
    AcknowledgedAtOnce, ChildrenForgotten, CrossingIsEchoed, FirstAnswerSuffices, LatestParent,
    LeafNeverEchoes, OnlyEngagingWorkAcknowledged, SecondActivationEdge, StrangerIsCounted,
    SwallowsExplorers,
};

#[rustfmt::skip]
impl Listed for Mutex {
    fn register(into: &mut impl Register<Self>) {
        let card = &central::CARD;
        into.algorithm(card, of_group(Central::new).guarded(central::INVARIANTS));
        let correct = || of_group(Central::new);
        into.flaw(card, "last-come-first-served", correct().with(&LastComeFirstServed));
        into.flaw(card, "applications-talk", talkative(correct()));
        into.flaw(card, "always-denied", correct().with(&AlwaysDenied));
        into.flaw(card, "always-granted", correct().with(&AlwaysGranted));

        let card = &lamport::CARD;
        into.algorithm(card, of_group(Lamport::new));
        into.remembering(remembering(of_group(Lamport::new)));
        into.flaw(card, "unordered-links", of_group(Lamport::new).with(&AsItIs));
        into.flaw(card, "copies-stamped-apart", of_group(Lamport::new).with(&CopiesStampedApart));
        into.flaw(card, "any-word-will-do", of_group(Lamport::new).with(&AnyWordWillDo));

        let card = &ricart_agrawala::CARD;
        let correct = || of_group(RicartAgrawala::new);
        into.algorithm(card, correct().guarded(lemmas::ricart_agrawala::INVARIANTS));
        into.remembering(remembering(correct()));
        into.flaw(card, "clock-not-advanced", correct().with(&ClockNotAdvanced));
        into.flaw(card, "replies-carry-no-clock", correct().with(&RepliesCarryNoClock));
        into.remembering(remembering(correct().with(&RepliesCarryNoClock)));
        into.flaw(card, "deferred-never-cleared", correct().with(&DeferredNeverCleared));
        into.flaw(card, "majority", correct().with(&Majority));
        into.flaw(card, "no-tie-break", correct().with(&NoTieBreak));
        into.flaw(card, "stamp-lowered", correct().with(&StampLowered));

        let card = &carvalho_roucairol::CARD;
        into.algorithm(card, of_group(CarvalhoRoucairol::new));
        into.remembering(remembering(of_group(CarvalhoRoucairol::new)));
        into.flaw(card, "no-re-request", of_group(CarvalhoRoucairol::new).with(&NoReRequest));

        let card = &total_order::CARD;
        into.algorithm(card, total_order::recipe());
        into.remembering(remembering(stamps::total_order()));
        into.flaw(card, "fifo-order", total_order::unchecked());
        into.flaw(card, "causal-order", total_order::unchecked());
        into.flaw(card, "unordered-links", total_order::recipe().with(&total_order_flaws::AsItIs));
        into.flaw(card, "old-request-counts", total_order::recipe().with(&OldRequestCounts));

        register_survivors(into);
        register_quorums(into);
        register_tokens(into);

        let card = &k_exclusion::CARD;
        into.algorithm(card, of_setup(KExclusion::of));
        into.flaw(card, "debts-forgotten", of_setup(KExclusion::of).with(&DebtsForgotten));
        into.flaw(card, "reply-counts-once", of_setup(KExclusion::of).with(&ReplyCountsOnce));

        let card = &readers_writers::CARD;
        let correct = || of_group(ClaimedExclusion::readers_writers);
        into.algorithm(card, correct());
        into.flaw(card, "readers-pass-waiting-writers", correct().with(&ReadersPassWaitingWriters));
        into.flaw(card, "readers-preference", correct().with(&ReadersPreference));

        let card = &group_exclusion::CARD;
        let correct = || of_group(ClaimedExclusion::groups);
        into.algorithm(card, correct());
        into.flaw(card, "classes-not-compared", correct().with(&ClassesNotCompared));

        let card = &resource_sets::CARD;
        into.algorithm(card, of_group(ClaimedExclusion::resources));
        into.flaw(card, "one-after-the-other", of_group(OneAfterTheOther::new));
    }
}

/// Mutual exclusion by quorums: a node with the permission of a whole quorum may enter.
#[rustfmt::skip]
fn register_quorums(into: &mut impl Register<Mutex>) {
    let card = &maekawa_basic::CARD;
    into.algorithm(card, of_quorums(MaekawaBasic::new).guarded(maekawa_basic::INVARIANTS));
    into.flaw(card, "circle", of_quorums(MaekawaBasic::new).with(&maekawa_flaws::AsItIs));

    let card = &maekawa::CARD;
    let correct = || of_quorums(Maekawa::new);
    into.algorithm(card, correct().guarded(maekawa::INVARIANTS));
    into.remembering(remembering(correct()));
    into.flaw(card, "overtaken-not-told", correct().with(&OvertakenNotTold));
    into.flaw(card, "given-back-forgotten", correct().with(&GivenBackForgotten));
    into.flaw(card, "one-inquiry-answered", correct().with(&OneInquiryAnswered));
    into.flaw(card, "one-flag-for-all", correct().with(&OneFlagForAll));
    into.flaw(card, "inquiry-outlives-request", correct().with(&InquiryOutlivesRequest));
    into.flaw(card, "answered-before-locked", correct().with(&AnsweredBeforeLocked));

    let card = &maekawa_fallback::CARD;
    let correct = maekawa_fallback::recipe;
    into.algorithm(card, correct().guarded(maekawa_fallback::INVARIANTS));
    into.remembering(remembering(correct()));
    into.flaw(card, "dead-members-dropped", correct().with(&DeadMembersDropped));
    into.flaw(card, "arbiter-forgets", correct().with(&ArbiterForgets));
    into.flaw(card, "waits-for-the-dead", correct().with(&WaitsForTheDead));
    into.flaw(card, "restart-unheeded", correct().with(&RestartUnheeded));

    let card = &sanders::CARD;
    into.algorithm(card, sanders::recipe().guarded(sanders::INVARIANTS));
    into.remembering(remembering(sanders::recipe()));
    into.flaw(card, "no-way-back", sanders::recipe().with(&NoWayBack));
    into.flaw(card, "nobody-in-common", sanders::unchecked());
    into.flaw(card, "informs-not-itself", sanders::unchecked());

    let card = &cao_singhal::CARD;
    let correct = cao_singhal::recipe;
    into.algorithm(card, correct().guarded(cao_singhal::INVARIANTS));
    into.remembering(remembering(correct()));
    into.flaw(card, "early-release-dropped", correct().with(&EarlyReleaseDropped));
    into.flaw(card, "early-inquire-dropped", correct().with(&EarlyInquireDropped));
    into.flaw(card, "no-epochs", correct().with(&NoEpochs));
    into.flaw(card, "overtaken-not-told", correct().with(&cao_singhal_flaws::OvertakenNotTold));

    let card = &cao_singhal_fallback::CARD;
    let correct = cao_singhal_fallback::recipe;
    into.algorithm(card, correct().guarded(cao_singhal_fallback::INVARIANTS));
    into.remembering(remembering(correct()));
    into.flaw(card, "dead-members-dropped", correct().with(&handed_on::DeadMembersDropped));
    into.flaw(card, "arbiter-forgets", correct().with(&handed_on::ArbiterForgets));
    into.flaw(card, "waits-for-the-dead", correct().with(&handed_on::WaitsForTheDead));
    into.flaw(card, "restart-unheeded", correct().with(&handed_on::RestartUnheeded));
    into.flaw(card, "return-missed", correct().with(&handed_on::ReturnMissed));

    let card = &majority_votes::CARD;
    let correct = || of_group(MajorityVotes::new);
    into.algorithm(card, correct().guarded(lemmas::majority_votes::INVARIANTS));
    into.remembering(remembering(correct()));
    into.flaw(card, "votes-for-all", correct().with(&VotesForAll));
    into.flaw(card, "amnesia", correct().with(&Amnesia));
    into.flaw(card, "answered-before-voted", correct().with(&AnsweredBeforeVoted));
    into.flaw(card, "votes-kept", correct().with(&VotesKept));

    let card = &majority_votes_timely::CARD;
    let correct = || of_setup(MajorityVotesTimely::of);
    into.algorithm(card, correct());
    into.remembering(remembering(correct()));
    into.flaw(card, "withdrawn-unasked", correct().with(&WithdrawnUnasked));
    into.flaw(card, "never-withdrawn", correct().with(&NeverWithdrawn));
    into.flaw(card, "inside-and-silent", correct().with(&InsideAndSilent));
    into.flaw(card, "amnesia", correct().with(&AmnesiaInTime));
}

/// Mutual exclusion among nodes of which some may crash.
fn register_survivors(into: &mut impl Register<Mutex>) {
    let card = &ricart_agrawala_probing::CARD;
    let correct = || of_setup(RicartAgrawalaProbing::of);
    into.algorithm(card, correct());
    into.remembering(remembering(correct()));
    into.flaw(card, "never-heard-of-again", correct().with(&NeverHeardOfAgain));
    let forgotten = of_setup(|me, setup| ClockForgotten(RicartAgrawalaProbing::of(me, setup)));
    into.flaw(card, "clock-forgotten", forgotten);
    into.flaw(card, "put-off-for-ever", correct().with(&PutOffForEver));

    regenerating::<TokenRing>(into, &regenerating_ring::CARD);
    regenerating::<SuzukiKasami>(into, &regenerating_suzuki_kasami::CARD);
    regenerating::<Raymond>(into, &regenerating_raymond::CARD);
}

/// An algorithm with a token that is made anew if it is lost.
fn regenerating<P: Renewable>(into: &mut impl Register<Mutex>, card: &'static Card<Mutex>) {
    let correct = || of_setup(Regenerating::<P>::of);
    into.algorithm(card, correct().guarded(Regenerating::INVARIANTS));
    into.flaw(card, "no-generation", correct().with(&NoGeneration));
    into.flaw(card, "asked-once", correct().with(&AskedOnce));
}

/// Mutual exclusion by a token: its holder may enter.
#[rustfmt::skip]
fn register_tokens(into: &mut impl Register<Mutex>) {
    let card = &token_ring::CARD;
    let correct = || of_setup(TokenRing::of);
    into.algorithm(card, correct().guarded(lemmas::token_ring::INVARIANTS));
    into.flaw(card, "kept-until-wanted", correct().with(&KeptUntilWanted));
    into.flaw(card, "timer-not-cancelled", correct().with(&TimerNotCancelled));
    into.flaw(card, "no-common-order", correct().with(&NoCommonOrder));
    into.flaw(card, "no-ageing", correct().with(&NoAgeing));
    into.flaw(card, "applications-talk", talkative(correct()));

    let card = &suzuki_kasami::CARD;
    let correct = || of_setup(SuzukiKasami::of);
    into.algorithm(card, correct().guarded(suzuki_kasami::INVARIANTS));
    into.flaw(card, "outdated-requests-served", correct().with(&OutdatedRequestsServed));
    into.flaw(card, "everyone-is-queued", correct().with(&EveryoneIsQueued));
    into.flaw(card, "requests-missed-inside", correct().with(&RequestsMissedInside));
    into.flaw(card, "queue-left-behind", correct().with(&QueueLeftBehind));
    into.flaw(card, "token-lost", correct().with(&TokenLost));
    into.flaw(card, "token-doubled", correct().with(&TokenDoubled));

    let card = &singhal::CARD;
    let correct = || of_setup(Singhal::of);
    into.algorithm(card, correct().guarded(lemmas::singhal::INVARIANTS));
    into.remembering(dated(correct().with(&NoMistake)));
    into.flaw(card, "as-published", correct().with(&AsPublished));
    into.remembering(dated(correct().with(&AsPublished)));
    into.flaw(card, "no-re-send", correct().with(&NoReSend));
    into.remembering(dated(correct().with(&NoReSend)));
    into.flaw(card, "inside-as-if-idle", correct().with(&InsideAsIfIdle));
    into.flaw(card, "staircase-believed", correct().with(&StaircaseBelieved));
    into.remembering(dated(correct().with(&StaircaseBelieved)));
    into.flaw(card, "last-asker-only", correct().with(&LastAskerOnly));
    into.remembering(dated(correct().with(&LastAskerOnly)));
    into.flaw(card, "older-believed", correct().with(&OlderBelieved));
    into.remembering(dated(correct().with(&OlderBelieved)));

    let card = &raymond::CARD;
    into.algorithm(card, raymond::recipe().guarded(raymond::INVARIANTS));
    into.flaw(card, "given-away-inside", raymond::recipe().with(&GivenAwayInside));
    into.flaw(card, "token-doubled", raymond::recipe().with(&raymond_flaws::TokenDoubled));
    into.flaw(card, "token-lost", raymond::recipe().with(&raymond_flaws::TokenLost));
    into.flaw(card, "request-forgotten", raymond::recipe().with(&RequestForgotten));
    into.flaw(card, "edge-not-turned", raymond::recipe().with(&EdgeNotTurned));

    let card = &lift::CARD;
    into.algorithm(card, lift::recipe().guarded(lift::INVARIANTS));
    into.flaw(card, "lowest-first", lowest_first());

    let card = &echo_lift::CARD;
    into.algorithm(card, echo_lift::recipe().guarded(echo_lift::INVARIANTS));
    into.flaw(card, "wish-forgotten", echo_lift::recipe().with(&WishForgotten));
    into.flaw(card, "latest-edge", echo_lift::recipe().with(&LatestEdge));

    let card = &elected_lift::CARD;
    into.algorithm(card, elected_lift::recipe().guarded(elected_lift::INVARIANTS));
    into.flaw(card, "everyone-starts", elected_lift::recipe().with(&EveryoneStarts));
    into.flaw(card, "result-suffices", elected_lift::recipe().with(&ResultSuffices));
}

#[rustfmt::skip]
impl Listed for Election {
    fn register(into: &mut impl Register<Self>) {
        let card = &bully::CARD;
        into.algorithm(card, of_setup(Bully::of));
        into.flaw(card, "no-guard", of_setup(Unguarded::of).guarded(bully_flaws::INVARIANTS));
        into.flaw(card, "no-second-time-out", of_setup(bully_flaws::no_second_time_out));
        into.flaw(card, "short-time-out", of_setup(bully_flaws::short_time_out));
        into.flaw(card, "unnumbered", of_setup(Bully::of).with(&Unnumbered));
        into.flaw(card, "number-forgotten", of_setup(Bully::of).with(&NumberForgotten));

        let card = &ring_election::CARD;
        into.algorithm(card, of_setup(RingElection::of));
        into.flaw(card, "result-not-spread", of_setup(RingElection::of).with(&ResultNotSpread));
        into.flaw(card, "dead-not-skipped", of_setup(RingElection::of).with(&DeadNotSkipped));

        let card = &watching_bully::CARD;
        let correct = || of_setup(Watching::<Bully>::of);
        into.algorithm(card, correct());
        into.flaw(card, "nobody-calls", correct().with(&NobodyCalls));

        let card = &watching_ring::CARD;
        let correct = || of_setup(Watching::<RingElection>::of);
        into.algorithm(card, correct());
        into.flaw(card, "nobody-calls", correct().with(&NobodyCalls));

        let card = &view_leader::CARD;
        into.algorithm(card, of_setup(ViewLeader::of));
        into.flaw(card, "stale-view", of_setup(ViewLeader::of).with(&StaleView));

        let card = &chang_roberts::CARD;
        into.algorithm(card, of_setup(ChangRoberts::of));
        into.flaw(card, "lower-ones-pass", of_setup(ChangRoberts::of).with(&LowerOnesPass));

        let card = &tree_election::CARD;
        let correct = tree_election::recipe;
        into.algorithm(card, correct().guarded(tree_election::INVARIANTS));
        into.flaw(card, "equal-waits", correct().with(&EqualWaits));
        into.flaw(card, "no-leaf-is-root", correct().with(&NoLeafIsRoot));
        into.flaw(card, "stale-be-my-parent", correct().with(&StaleBeMyParent));

        let card = &bus_reset::CARD;
        let correct = bus_reset::recipe;
        into.algorithm(card, correct());
        into.flaw(card, "stale-generation", correct().with(&StaleGeneration));
        into.flaw(card, "reset-not-flooded", correct().with(&ResetNotFlooded));
        into.flaw(card, "early-lost", correct().with(&EarlyLost));

        let card = &echo_election::CARD;
        let correct = echo_election::recipe;
        into.algorithm(card, correct().guarded(echo_election::INVARIANTS));
        into.flaw(card, "lower-waves-answered", correct().with(&LowerWavesAnswered));
        into.flaw(card, "first-wave-stays", correct().with(&FirstWaveStays));
        into.flaw(card, "unnumbered", correct().with(&echo_election_flaws::Unnumbered));
    }
}

#[rustfmt::skip]
impl Listed for Wave {
    fn register(into: &mut impl Register<Self>) {
        let card = &echo::CARD;
        let correct = echo::recipe;
        into.algorithm(card, correct().guarded(echo::INVARIANTS));
        into.flaw(card, "leaf-never-echoes", correct().with(&LeafNeverEchoes));
        into.flaw(card, "first-answer-suffices", correct().with(&FirstAnswerSuffices));
        into.flaw(card, "crossing-is-echoed", correct().with(&CrossingIsEchoed));
        into.flaw(card, "second-activation-edge", correct().with(&SecondActivationEdge));
        into.flaw(card, "children-forgotten", correct().with(&ChildrenForgotten));

        let card = &echo_taboo::CARD;
        let correct = || Recipe::new(echo_taboo::nodes);
        into.algorithm(card, correct().guarded(echo_taboo::INVARIANTS));
        into.flaw(card, "swallows-explorers", correct().with(&SwallowsExplorers));
        into.flaw(card, "stranger-is-counted", correct().with(&StrangerIsCounted));

        let card = &dijkstra_scholten::CARD;
        let correct = dijkstra_scholten::recipe;
        into.algorithm(card, correct().guarded(dijkstra_scholten::INVARIANTS));
        into.flaw(card, "acknowledged-at-once", correct().with(&AcknowledgedAtOnce));
        into.flaw(card, "latest-parent", correct().with(&LatestParent));
        let flawed = correct().with(&OnlyEngagingWorkAcknowledged);
        into.flaw(card, "only-engaging-work-acknowledged", flawed);
    }
}

#[rustfmt::skip]
impl Listed for Detection {
    fn register(into: &mut impl Register<Self>) {
        let card = &heartbeat::CARD;
        into.algorithm(card, of_setup(Heartbeat::of));
        into.flaw(card, "never-recovers", of_setup(Heartbeat::of).with(&NeverRecovers));
        into.flaw(card, "learns-nothing", of_setup(Heartbeat::of).with(&LearnsNothing));
        into.flaw(card, "first-awaited-for-ever", of_setup(FirstAwaitedForEver::of));
    }
}

#[rustfmt::skip]
impl Listed for Multicast {
    fn register(into: &mut impl Register<Self>) {
        let card = &ack::CARD;
        let correct = multicast::recipe::<Ack>;
        into.algorithm(card, correct());
        into.flaw(card, "no-duplicate-filter", correct().with(&NoDuplicateFilter));
        into.flaw(card, "freed-when-one-has-it", correct().with(&FreedWhenOneHasIt));
        into.flaw(card, "causal-by-fifo-only", correct().with(&CausalByFifoOnly));
        into.flaw(card, "delivered-before-stable", correct().with(&DeliveredBeforeStable));
        into.flaw(card, "never-removed", correct().with(&NeverRemoved));
        into.flaw(card, "stale-incarnation", correct().with(&StaleIncarnation));

        let card = &nack::CARD;
        let correct = multicast::recipe::<Nack>;
        into.algorithm(card, correct());
        into.flaw(card, "no-tail-detection", correct());
        into.flaw(card, "no-duplicate-filter", correct().with(&NoDuplicateFilter));
        into.flaw(card, "freed-when-one-has-it", correct().with(&FreedWhenOneHasIt));
        into.flaw(card, "gap-not-reported", correct().with(&GapNotReported));
        into.flaw(card, "never-removed", correct().with(&NeverRemoved));
        into.flaw(card, "stale-incarnation", correct().with(&StaleIncarnation));
        into.flaw(card, "gone-not-said", correct().with(&GoneNotSaid));

        let card = &srm::CARD;
        let correct = multicast::recipe::<Srm>;
        into.algorithm(card, correct());
        into.flaw(card, "no-sessions", correct().with(&NoSessions));
        into.flaw(card, "no-duplicate-filter", correct().with(&NoDuplicateFilter));
        let flawed = correct().with(&NoIgnoreInterval).guarded(ONE_BACK_OFF);
        into.flaw(card, "no-ignore-interval", flawed);
        let flawed = correct().with(&SuppressedForEver).guarded(EVERY_GAP_IS_ASKED_FOR);
        into.flaw(card, "suppressed-for-ever", flawed);
        into.flaw(card, "never-removed", correct().with(&NeverRemoved));
        into.flaw(card, "stale-incarnation", correct().with(&StaleIncarnation));
        into.flaw(card, "never-widened", correct().with(&NeverWidened));
    }
}

#[rustfmt::skip]
impl Listed for GroupCommunication {
    fn register(into: &mut impl Register<Self>) {
        let card = &virtual_synchrony::CARD;
        into.algorithm(card, virtual_synchrony::correct());
        into.flaw(card, "no-second-phase", deciding(Misjudgement::NoSecondPhase));
        into.flaw(card, "minority-goes-on", deciding(Misjudgement::MinorityGoesOn));
        into.flaw(card, "no-freeze", mistaken(&NoFreeze));
        into.flaw(card, "orphans-dropped", deciding(Misjudgement::OrphansDropped));
        into.flaw(card, "across-the-barrier", mistaken(&AcrossTheBarrier));
        into.flaw(card, "nothing-handed-over", deciding(Misjudgement::NothingHandedOver));
        into.flaw(card, "votes-forgotten", deciding(Misjudgement::VotesForgotten));
    }
}
