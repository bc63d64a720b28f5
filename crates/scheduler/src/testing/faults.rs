//! Faults that the property tests seed at the mechanisms, to see that they would notice.

/// A fault and where it sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeded {
    /// A settling raises the head although the lane was lowered since the pick.
    RaiseDespiteStamp,
    /// Room that was not needed is not given back.
    KeepUnusedRoom,
    /// A unit that moves stays in the heap that it came from.
    TwoPlaces,
    /// Nodes are not put back when their gate opens.
    MissOpening,
    /// Nodes are not taken out when their gate closes.
    MissClosing,
    /// A claim may overtake the runner-up.
    IgnoreRunnerUp,
    /// A claim from all queues may overtake jobs of queues other than the picked lane's.
    IgnoreOtherQueues,
    /// A job at the runner-up's head may not be taken.
    StopAtRunnerUp,
    /// Rows that others have locked are passed over as if their owners would lower the lane again.
    ForgetLockedRows,
    /// A limit is stored although it may have changed since it was read.
    IgnoreVersion,
    /// An abort does not lower the lane.
    AbortWithoutLowering,
    /// Room that was taken over counts twice.
    HoldTransferredTwice,
    /// Room that was taken over is given back by the claim that took it.
    ReleaseTransferred,
    /// A commit after a rebuild counts like any other.
    CountTwice,
    /// A rebuild forgets what open transactions have reserved.
    ForgetReservations,
    /// One more than the limit may run.
    OneTooMany,
    /// Heaps are ordered by head alone.
    IgnorePriority,
    /// A pick gives up where it meets a closed gate.
    StopAtClosedGate,
    /// A session waits for a lane that may be empty.
    TrustDoubtfulHead,
    /// A session does not hear that the job it waits for is gone.
    IgnoreWithdrawal,
    /// A session goes on past a locked job.
    PassLockedSession,
    /// A lane for which there is no slot is not marked as missing.
    SpillSilently,
    /// A lane that had to go is made again by a new job as if it had none before.
    BeginWithNewJob,
    /// A lane begins where it did when it was read, whatever was heard of it since.
    TrustOldReading,
    /// A queue that was searched in vain stays barren whatever gates open.
    MissChances,
    /// A wake-up that nobody makes use of counts for ever.
    TrustWokenForEver,
    /// Work that a woken sleeper leaves behind wakes nobody.
    LeaveWorkBehind,
    /// Who comes and finds work lies down, for somebody else was woken for it.
    LeaveWorkToOthers,
    /// Nobody takes over when the keeper of the time leaves.
    LeaveTimeUnkept,
    /// What a notifier that died had not sent is forgotten.
    ForgetUnsent,
    /// Who finds a queue empty while a notification is sent is taken to have it.
    DisarmWhenSent,
    /// The notifier does not look at the clock.
    ListenPastEvents,
    /// A start costs no token.
    StartFreeOfCharge,
    /// A bucket of which nothing is known begins full.
    StartFull,
    /// Another rate fills the bucket.
    RefillOnChange,
    /// Tokens that were not needed stay put by.
    KeepUnusedTokens,
    /// A gate that sleeps has no timer.
    ForgetTimer,
    /// The timers are no heap.
    LooseTimers,
    /// A tenant that was idle makes up for it.
    CreditTheIdle,
    /// All tenants weigh the same.
    IgnoreWeight,
    /// A start costs a tenant nothing.
    ServeForNothing,
    /// A start that was charged and did not take place stays charged.
    KeepVainCharge,
    /// The clock of a fair queue stays behind while one tenant starts many.
    LagBehind,
    /// A bundle that waited at its key is served by the tag that it came with.
    TrustOldTag,
    /// Waiting gains nothing.
    NeverAge,
    /// Another interval ranks nobody anew.
    KeepOldLevels,
    /// Lanes stay where the dates before a thinning had put them.
    KeepOldDates,
    /// Levels of queues whose clocks differ are compared as they are.
    CompareOtherClocks,
    /// A position that was set by hand dates those that are drawn later.
    TrustAnyPosition,
    /// Queues are compared before it is known whether their jobs age.
    CompareUnreadQueues,
    /// A claim goes on into jobs that have waited less than those of another lane.
    TakeYoungerJobs,
}

#[cfg(feature = "faults")]
impl Seeded {
    pub const OF_WAITING: [Seeded; 4] = [
        Seeded::TrustWokenForEver,
        Seeded::LeaveWorkBehind,
        Seeded::LeaveWorkToOthers,
        Seeded::LeaveTimeUnkept,
    ];

    pub const OF_LISTENING: [Seeded; 3] = [
        Seeded::ForgetUnsent,
        Seeded::DisarmWhenSent,
        Seeded::ListenPastEvents,
    ];

    pub const ALL: [Seeded; 44] = [
        Seeded::RaiseDespiteStamp,
        Seeded::KeepUnusedRoom,
        Seeded::TwoPlaces,
        Seeded::MissOpening,
        Seeded::MissClosing,
        Seeded::IgnoreRunnerUp,
        Seeded::IgnoreOtherQueues,
        Seeded::StopAtRunnerUp,
        Seeded::ForgetLockedRows,
        Seeded::IgnoreVersion,
        Seeded::AbortWithoutLowering,
        Seeded::HoldTransferredTwice,
        Seeded::ReleaseTransferred,
        Seeded::CountTwice,
        Seeded::ForgetReservations,
        Seeded::OneTooMany,
        Seeded::IgnorePriority,
        Seeded::StopAtClosedGate,
        Seeded::TrustDoubtfulHead,
        Seeded::IgnoreWithdrawal,
        Seeded::PassLockedSession,
        Seeded::SpillSilently,
        Seeded::BeginWithNewJob,
        Seeded::TrustOldReading,
        Seeded::MissChances,
        Seeded::StartFreeOfCharge,
        Seeded::StartFull,
        Seeded::RefillOnChange,
        Seeded::KeepUnusedTokens,
        Seeded::ForgetTimer,
        Seeded::LooseTimers,
        Seeded::CreditTheIdle,
        Seeded::IgnoreWeight,
        Seeded::ServeForNothing,
        Seeded::KeepVainCharge,
        Seeded::LagBehind,
        Seeded::TrustOldTag,
        Seeded::NeverAge,
        Seeded::KeepOldLevels,
        Seeded::KeepOldDates,
        Seeded::CompareOtherClocks,
        Seeded::TrustAnyPosition,
        Seeded::CompareUnreadQueues,
        Seeded::TakeYoungerJobs,
    ];
}

#[cfg(feature = "faults")]
mod switch {
    use super::Seeded;
    use std::sync::atomic::{AtomicU32, Ordering};

    const NOTHING: u32 = u32::MAX;

    static ARMED: AtomicU32 = AtomicU32::new(NOTHING);

    pub fn arm(fault: Option<Seeded>) {
        ARMED.store(
            fault.map_or(NOTHING, |fault| fault as u32),
            Ordering::SeqCst,
        );
    }

    pub fn armed(fault: Seeded) -> bool {
        ARMED.load(Ordering::Relaxed) == fault as u32
    }
}

#[cfg(feature = "faults")]
pub use switch::{arm, armed};

#[cfg(not(feature = "faults"))]
pub(crate) const fn armed(_: Seeded) -> bool {
    false
}
