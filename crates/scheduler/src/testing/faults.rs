//! Seeded faults: mechanisms that tests leave out one at a time, to see that the property tests would notice.
//!
//! They stand in the code that they break, and compile to nothing without the feature `faults`. A tool that mutates
//! the source cannot replace them: most are one particular change of a rule that no generic mutation of the code
//! makes, and a run of the property tests for each of thousands of generic mutants would take hours.

/// Makes the enum of faults, and a list for each of the models that notice them.
macro_rules! seeded {
    ($($list:ident { $($(#[$doc:meta])+ $fault:ident,)+ })+) => {
        /// A fault, by what the code does instead.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Seeded {
            $($($(#[$doc])+ $fault,)+)+
        }

        #[cfg(feature = "faults")]
        impl Seeded {
            $(pub const $list: &[Seeded] = &[$(Seeded::$fault,)+];)+
        }
    };
}

seeded! {
    OF_SCHEDULING {
        /// A claim raises the head of its lane although the lane was lowered since the pick.
        RaiseDespiteStamp,
        /// Room that was not needed is not given back.
        KeepUnusedRoom,
        /// An entry that moves stays in the heap that it came from.
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
        /// Settings are stored although they may have changed since they were read.
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
        /// A pick gives up where it reaches a closed gate.
        StopAtClosedGate,
        /// A session waits for a lane that may be empty.
        TrustUnverifiedHead,
        /// A session is not told that the job that it waits for is gone.
        IgnoreWithdrawal,
        /// A lane of which jobs have gone otherwise than by claims counts as before.
        TrustWithdrawnLane,
        /// A session goes on past a locked job.
        PassLockedSession,
        /// A lane for which there is no slot is not marked as missing.
        SpillSilently,
        /// A record goes at the end of a round, although lanes have found no slot.
        DropRecordTooSoon,
        /// An evicted lane is made again for a new job as if it had no jobs before.
        BeginWithNewJob,
        /// A lane gets the head that was read, although it was lowered since.
        TrustOldReading,
        /// What was searched in vain is not searched again when gates open.
        MissRunnableChange,
        /// What was searched in vain is not searched again when a lane that may run is left out.
        MissRunnableLane,
        /// A start costs no token.
        StartFreeOfCharge,
        /// A new bucket begins full.
        StartFull,
        /// A rate that is set where there was none begins without tokens.
        StartEmpty,
        /// A new rate fills the bucket.
        RefillOnChange,
        /// Tokens that were not needed stay set aside.
        KeepUnusedTokens,
        /// A throttled gate has no timer.
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
        /// A key group that waited at its key is served by the tag with which it came.
        TrustOldTag,
        /// Jobs gain nothing by waiting.
        NeverAge,
        /// A new interval ranks nothing again.
        KeepOldLevels,
        /// Lanes stay where the dates before a thinning had put them.
        KeepOldDates,
        /// Levels of queues whose clocks differ are compared as they are.
        CompareOtherClocks,
        /// A position that was set by hand dates those that are drawn later.
        TrustAnyPosition,
        /// Queues are compared before it is known whether their jobs age.
        CompareUnreadQueues,
        /// A queue keeps its rank among queues whatever comes next in it.
        KeepQueueRank,
        /// A fair queue that was compared by the lane that was next keeps that rank although another may be next.
        TrustOldNext,
        /// A claim that is limited to some queues looks at all.
        IgnoreQueueFilter,
        /// A claim goes on into jobs that have waited less than those of another lane.
        TakeYoungerJobs,
    }

    OF_RATES {
        /// A rate begins full although its gate may have been forgotten since.
        ForgetForgetting,
        /// A gate that had no rate once fills its bucket with each reading from then on.
        StayFree,
        /// A rate begins full although one was in force that the tables have lost.
        ForgetLoss,
    }

    OF_CROWDING {
        /// When memory is full, a lane of those who have few leaves.
        EvictFromFew,
    }

    OF_GROWTH {
        /// An index that grows leaves a slot in the chain that it had before.
        LeaveBehindInSplit,
        /// An index that shrinks forgets what was in the last bucket.
        LoseMergedChain,
        /// An array that shrinks forgets its last slot in use.
        TrimLiveSlot,
    }

    OF_DUE_TIMES {
        /// The queues are not in the order of their times.
        LooseTimes,
        /// A queue for which there is no slot is forgotten.
        ForgetOthers,
        /// The leases of a queue are in any order.
        LooseLeases,
        /// A lease for which there is no slot is forgotten.
        ForgetLeaseOutside,
        /// A search puts off a lease although it was noted anew since the search took it.
        PassNotedLease,
    }

    OF_WAKE_UPS {
        /// A wake-up that no claim makes use of counts for ever.
        TrustWokenForEver,
        /// Work that a woken process leaves behind wakes no other.
        LeaveWorkBehind,
        /// A process that comes and finds work waits, because another one was woken for it.
        LeaveWorkToOthers,
        /// No process takes over when the timekeeper leaves.
        LeaveTimeUnkept,
    }

    OF_LOOKING {
        /// A claim does not note that its queue was claimed from.
        ForgetClaim,
        /// Room that was reserved and not needed counts as starts.
        CountWhatNeverStarts,
        /// Jobs that come later count as ahead.
        CountWhatComesLater,
    }

    OF_FIGURES {
        /// What a count has seen is added once more.
        AddWhatWasCounted,
        /// A transaction that ran when the count began is taken to be part of it.
        ForgetWhoRan,
        /// What is committed during a count is left to it.
        MissDuringCount,
        /// A count that was given up, or overtaken, adds to the next.
        MixCounts,
        /// A count begins statistics anew.
        CountWithoutPast,
        /// Intervals become one however new they are.
        MergeTheNew,
        /// A job that goes is taken from those that have waited longest.
        TakeTheOldest,
        /// Names with jobs are forgotten.
        ForgetTheBusy,
        /// Commits change nothing about what batches have.
        MissBatches,
        /// A count passes batches over.
        CountWithoutBatches,
        /// The blocked jobs of a batch are not live.
        TakeBlockedForGone,
        /// A batch of which more has gone than is known to have come is not empty.
        WaitForExactlyNone,
        /// Only a job that has ended may leave a batch empty, not one that was deleted or moved.
        SeeOnlyEnds,
        /// Jobs that come and go in one transaction leave no batch empty.
        MissWhatHasGoneAgain,
        /// What is counted so far of a batch is taken for all of it.
        TrustUnfinishedCount,
        /// A batch that found no room is taken to have no jobs.
        TakeUnknownForNone,
        /// The failure of a job decides nothing.
        IgnoreFailures,
    }

    OF_WORKERS {
        /// A worker that is seen again keeps its place among those that were seen before.
        KeepPlaceOfSeen,
        /// No worker makes room for another.
        KeepEveryWorker,
    }

    OF_CHANNELS {
        /// What a notifier that died had not sent is forgotten.
        ForgetUnsent,
        /// A claim that finds a queue empty while a notification is sent is taken to have it.
        DisarmWhenSent,
        /// The notifier does not look at the clock.
        ListenPastEvents,
    }
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
