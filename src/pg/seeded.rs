//! Mechanisms that test builds can leave out, one at a time, to see that a test notices. The product has none of it.

/// A mechanism that is left out; `pg_test/mutants/guards.py` names the test that guards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "seeded_faults"), allow(dead_code))]
pub enum Seeded {
    /// The memory of a database grows past turnstile.max_memory.
    GrowPastLimit,
    /// The system has no memory left.
    RefuseMemory,
    /// A claim may take jobs that its own transaction has not committed.
    ClaimOwnJobs,
    /// A run that only its own transaction knows may be committed.
    CommitOwnRuns,
    /// A claim of own jobs goes by priority inside a session, too.
    ClaimOwnOutOfOrder,
    /// A claim that follows the end of a run takes nothing over from it.
    GoOnAnew,
    /// A job holds its unique key in whatever state it is.
    HoldInAnyState,
    /// A run that fails leaves only its own wait.
    ForgetWaits,
    /// A claim reads with the snapshot of its transaction.
    ClaimWithOldSnapshot,
    /// A lane ends with the range of positions that a claim looks at first.
    StopAfterRange,
    /// A lane whose next job another session has locked is not looked at again.
    ForgetHiddenLane,
    /// What a session's own transaction took out of it does not hold it back.
    PassOwnGone,
    /// Limits are read with what the transaction itself has changed.
    ReadOwnLimits,
    /// A rate begins with its burst whenever a row gets one, also where one was in force.
    BeginEachRate,
    /// Memory does not hear that a row has lost its rate, so a younger one that is inherited begins with its burst.
    MissLostRate,
    /// Room that a transaction frees is nothing to its own claims.
    WithholdCredits,
    /// Room that a transaction frees may be used by several of its claims.
    ReuseCredits,
    /// A rollback to a savepoint undoes nothing.
    IgnoreSavepointRollback,
    /// A rollback to a savepoint keeps what was noted since.
    KeepSavepointLevel,
    /// A released savepoint takes its changes with it.
    LoseReleasedLevel,
    /// An abort gives nothing back.
    IgnoreAbort,
    /// An abort does not bring back what the transaction itself had changed.
    ForgetGone,
    /// After an abort, no process promotes the jobs that are due.
    LoseDueTime,
    /// A commit does not announce jobs that were put off.
    HideDueTime,
    /// A commit does not announce leases.
    HideLease,
    /// A commit leaves runs that have ended to be watched.
    KeepLease,
    /// Leases for which memory has no room are never looked at.
    LeaveOutside,
    /// Lanes that became empty without a claim are not looked at.
    KeepEmptyLanes,
    /// The memory of a dropped extension is kept for the next one.
    KeepMemoryOfDropped,
    /// why_waiting does not tell that a job waits for one that waits for it.
    OverlookFamily,
    /// A commit does not announce recurring jobs.
    HideRecurring,
    /// After an abort, no process fires the recurring jobs that are due.
    LoseFiring,
    /// A firing is not noted in its row.
    FireAgain,
    /// After its start, the server looks into no database for recurring jobs.
    StayAtHome,
    /// A claim promotes and rescues for all queues.
    PromoteForAll,
    /// No background worker sees to queues that nobody claims from.
    LeaveOverdue,
    /// A commit gives back no room of runs that ended.
    CommitWithoutRelease,
    /// A commit counts no runs that were started by hand.
    CommitWithoutHold,
    /// A commit does not tell sessions that the job they wait for is gone.
    CommitWithoutWithdrawal,
    /// A callback that is cut short keeps its reservations.
    KeepReservationsCutShort,
    /// PREPARE TRANSACTION is not refused.
    AllowPrepare,
    /// An abort keeps the places that its jobs had taken in a bounded backlog.
    KeepCharges,
    /// A producer is admitted to a bounded backlog while another backend counts it.
    DoNotAwaitCount,
    /// A job takes its place in a bounded backlog when its transaction commits.
    ChargeAtCommit,
    /// Jobs that claims start are still counted as waiting.
    ClaimFreesNoPlace,
    /// TRUNCATE of the jobs goes unnoticed.
    IgnoreTruncate,
    /// A changed limit is not published.
    IgnoreSetting,
    /// A changed default row is not published.
    IgnoreDefaultRow,
    /// An invalid row is accepted.
    AcceptNonsense,
    /// The trigger takes a job in another lane for an unchanged one.
    IgnoreLane,
    /// What a job waits for is not compared with its state.
    IgnoreWaitsFor,
    /// A job counts as in its lane whatever its group.
    IgnoreGroup,
    /// The trigger takes a job that is due at another time for an unchanged one.
    IgnoreRunAt,
    /// A rebuild assumes that it has seen what its own transaction has changed.
    RebuildSeesItself,
    /// Memory that waits for a rebuild is used.
    UseStaleMemory,
    /// Memory of another database or of an extension that was dropped is used.
    UseForeignSlot,
    /// `complete` and `complete_many` end whatever attempt runs.
    FinishAnyAttempt,
    /// `fail` ends whatever attempt runs.
    FailAnyAttempt,
    /// `release` ends whatever attempt runs.
    ReleaseAnyAttempt,
    /// A claim fails at a row that another transaction has locked.
    StumbleOverLockedRows,
    /// A claim waits for a row that another transaction has locked.
    WaitForLockedRows,
    /// A claim passes over a row with any lock of another transaction, also one that is in no claim's way.
    PassOverWeakLocks,
    /// A claim does not ask constraints.
    ClaimDespiteChecks,
    /// A unique key is looked up, and then taken without conflicting with others that do the same.
    LookBeforeTaking,
    /// A released job loses its place in its session.
    MoveReleasedJob,
    /// A parent may end while a child is being added.
    LeaveParentUnlocked,
    /// Two transactions may move jobs under others at the same time.
    MoveAtTheSameTime,
    /// A child may be in the session of a job that waits for it.
    AllowAncestorsSession,
    /// A job that is moved is not compared with its children.
    OverlookSessionsBelow,
    /// A batch becomes what a producer asks for in its place.
    ReplaceBatches,
    /// One job that may not be moved fails all of reroute.
    LeaveNoJob,
    /// A job that waits for its children gives up its session where it is rerouted.
    RerouteBlocked,
    /// A job that is replaced still comes after what it came after before.
    KeepOldTies,
    /// The jobs above the parent of a new child may be moved meanwhile.
    LeaveLineUnlocked,
    /// Nobody looks after jobs that wait for others.
    ForgetFollowUp,
    /// A blocked child that is taken out of its batch is not looked at.
    ForgetTakenOut,
    /// A batch whose parent was deleted before its turn is not looked at.
    ForgetLeftBatch,
    /// An abort forgets which of them it was looking after.
    LoseFollowedUp,
    /// What memory has forgotten is looked for together with what is listed, though that may always fail.
    WalkTogether,
    /// Of more jobs than can be looked at together, only the first are.
    ForgetTheRest,
    /// A dependency that others have locked is not looked at again.
    ForgetPassedOver,
    /// Who looks after jobs waits for others to end with their dependencies.
    WaitForDependencies,
    /// What holds for a job that has ended wrong is looked at each time, before what is still to be told.
    LookAtHeldAgain,
    /// A predecessor that others have locked counts as told.
    TellOfLocked,
    /// Only blocked children that wait for nothing are looked at with their batch.
    OverlookUntoldChildren,
    /// Who comes back does not know of jobs that came after it meanwhile.
    ComeBackUnmarked,
    /// A job that is ended from outside has the children that it had before its lock was waited for.
    EndUnlocked,
    /// A rate counts a start before its job was there.
    ClaimBeforeTime,
    /// Who may manage a job may do so after it was given to others.
    ManageWhatWasMoved,
    /// A claim that sleeps has what it was permitted when it began.
    TrustThePermission,
    /// Of a transaction that has changed many lanes only the first are told.
    TellOnePart,
    /// A transaction that changes very many jobs brings the server down where memory is refused.
    TakeMemoryUnasked,
    /// Signs of life of many runs wait for each of them.
    WaitForHeldRuns,
    /// What a claim has tried in vain is tried again, but for a few.
    TryAgainWhatIsHeld,
    /// Each claim tries all that a transaction holds in front of its job.
    TryWhatRests,
    /// A claim finds nothing, though jobs in front of which many were held are free again.
    OverlookWhatRests,
    /// A claim waits on while memory lists jobs, though its time is over.
    WaitForEver,
    /// A batch whose turn has come is opened wherever it was moved.
    OpenAnywhere,
    /// A parent goes on while children are live.
    CallBackEarly,
    /// Children of a batch that is not open are in the lines of their sessions.
    LineUpEarly,
    /// Whatever is in the place of a run is the run.
    TrustPlace,
    /// Places are read that the table does not have any more.
    ReadPastEnd,
    /// What completes in a queue that keeps nothing leaves no history, although others have to know of it.
    LeaveNobodyAnything,
    /// A job that others come after is marked once they are committed, whatever its queue keeps.
    MarkLater,
    /// A queue keeps nothing as soon as it is set so, although followers may be unmarked.
    RelyOnKeepAtOnce,
    /// Whatever the end of a predecessor is, it will do.
    TakeAnyEnd,
    /// A job is not told that others come after it.
    TellNoPredecessor,
    /// A run that is handed over stays bound to its connection.
    KeepBound,
    /// A key on trial runs as many jobs as before.
    IgnoreTrial,
    /// Jobs do not get the key of their host.
    ForgetHost,
    /// Nobody hears of runs that will be repeated.
    ForgetFailedRun,
    /// A waiting claim sleeps on what it has changed.
    SleepOnChanges,
    /// A job that waits to be retried lets its session go on.
    FreeSessionOnRetry,
    /// A job that held its session also holds the session to which it is moved, beside what runs there.
    HoldOtherSession,
    /// A claim that finds nothing in memory does not look for lanes outside memory.
    LookNowhereElse,
    /// A search passes over lanes that find no room in memory beside those that were read with them.
    SkipWhatFindsNoRoom,
    /// A released attempt counts.
    CountReleasedAttempt,
    /// A default row comes before the row that names the gate.
    PreferDefaultRow,
    /// Jobs that wait when their queue begins to age count as if they had come then.
    ForgetAges,
    /// Jobs that come later count as old as those that were there.
    DateNobody,
    /// A position that was set by hand dates what is drawn later.
    TrustAnyPosition,
    /// Listeners are not notified after a claim that found nothing.
    TellNobody,
    /// Whether listeners are to be notified is read only once.
    KeepReadSettings,
    /// A notification is sent to the listeners of no database.
    TellNoDatabase,
    /// Single calls pass over triggers that a user has added.
    PassOverTriggers,
    /// What was found out about the tables is kept when they change.
    KeepWhatWasFound,
    /// An index is taken for one of the extension whatever its condition is.
    TrustIndexName,
    /// What an EXCEPTION block undoes counts as all that the call was about.
    AbandonOuterWork,
    /// What memory learns in a transaction that has rewritten the jobs is kept.
    TrustNewStorage,
    /// A snapshot is older than the locks of its tables.
    LookBeforeLocking,
    /// A statement is planned with the settings of the caller.
    PlanAsTheCaller,
    /// That a plan is still valid is found out before its tables are locked, and not again.
    TrustTheFirstPlan,
    /// A statement is planned by what is known of its tables.
    PlanByWhatIsKnown,
    /// A recurring job with much to make up for goes on before others.
    CatchUpFirst,
    /// A sleeping backend is not told that the extension was dropped.
    LetSleepersLie,
    /// EXECUTE alone decides what a role may do.
    PermitEverything,
    /// A former member of a role keeps the role's permissions.
    KeepMemberships,
    /// What is set for a queue is read only once.
    KeepQueueSettings,
    /// What others have read of settings is taken as right after they have changed.
    KeepSharedSettings,
    /// What a transaction reads that has written something is shared with others.
    ShareOwnSettings,
    /// What was found of one object of the extension counts for all of its class.
    TrustNames,
    /// A row is written although a column is NULL that must not be.
    AcceptNulls,
    /// A catalog of another release is used.
    ServeAnyCatalog,
    /// A pause of a session does not stop the job that holds it.
    StartInPausedSession,
    /// How children have ended is counted once, whatever is added later.
    KeepNumbersOfChildren,
    /// A gate that is paused is never full.
    OverlookLimitOfPaused,
    /// Who looks does not see that rows are locked.
    OverlookLocks,
    /// A job is never found to be behind another.
    OverlookOrder,
    /// A job of a session is never found to wait for its turn in it.
    OverlookTurn,
    /// why_waiting does not say that jobs wait for each other.
    OverlookCircles,
    /// A gate's rate and pause are not looked at.
    OverlookMeters,
    /// A queue always counts as one that is claimed from.
    OverlookAbsence,
    /// A worker whose claim finds nothing is not seen.
    OverlookIdleWorkers,
    /// Who may ask about a job is told which jobs of others are in its way.
    NameWhatIsInTheWay,
    /// Numbers that were drawn ahead are handed out whatever has been done to their sequence since.
    TrustStock,
    /// A claim takes the next attempt, whatever a crash may have taken back.
    SkipNoAttempt,
    /// Every claim of a job may be lost, not only the first one in an epoch.
    LoseAnyClaim,
    /// The number of a claim epoch may be lost.
    LoseEpoch,
    /// A job that is brought back knows of no claim epoch but the current one.
    ForgetEpochOfFinished,
    /// After a crash the claim epoch goes on.
    TrustEachStart,
    /// A claim may be lost together with what its transaction had done before.
    LoseWhatPrecedes,
    /// A claim may be lost together with what its transaction has done since.
    LoseWhatFollows,
    /// The log does not say that numbers are drawn ahead.
    DrawUnlogged,
    /// A reader of the history takes open transactions for ended ones.
    FollowByTime,
    /// A reader of the history knows of no savepoints.
    OverlookSavepoints,
    /// A reader of the history does not ask who is ending jobs.
    LookNoFurtherBack,
}

#[cfg(feature = "seeded_faults")]
pub fn armed(fault: Seeded) -> bool {
    crate::pg::settings::seeded_fault()
        .is_some_and(|name| name.as_bytes() == format!("{fault:?}").as_bytes())
}

#[cfg(not(feature = "seeded_faults"))]
pub const fn armed(_: Seeded) -> bool {
    false
}
