"""The test that must fail when a mechanism is left out (src/seeded.rs): a test of pg_test by its id, or a spec."""

_FENCED = "rules/test_fencing.py::test_a_superseded_run_is_refused_and_changes_nothing"
_REBUILT = "faults/test_rebuild.py::test_a_rebuild_by_a_transaction_older_than_one_that_has_ended"

GUARDS = {
    "ClaimOwnJobs": "mutants/test_own_jobs.py::test_a_claim_stops_before_what_its_own_transaction_added",
    "ClaimWithOldSnapshot": "rules/test_transactions.py::test_a_claim_with_an_old_snapshot_loses_no_job_for_others",
    "ForgetHiddenLane": "isolation/locked_by_a_stranger",
    "PassOwnGone": "mutants/test_waiting_sessions.py::test_a_session_waits_for_what_an_open_transaction_took_out_of_it",
    "ReadOwnLimits": "faults/test_transactions.py::test_an_uncommitted_limit_admits_and_refuses_nobody_else",
    "WithholdCredits":
        "rules/test_transactions.py::test_a_slot_freed_inside_a_transaction_is_usable_by_a_claim_of_the_same_one",
    "ReuseCredits": "mutants/test_credits.py::test_a_slot_freed_in_a_transaction_serves_one_of_its_claims",
    "IgnoreSavepointRollback": "isolation/claim_rolled_back_to_savepoint",
    "KeepSavepointLevel": "rules/test_transactions.py::test_nested_savepoints_undo_their_own_level_only",
    "LoseReleasedLevel": "faults/test_transactions.py::test_random_savepoints_up_to_fifty_deep",
    "IgnoreAbort": "isolation/claim_rolled_back",
    "ForgetGone": "faults/test_direct_dml.py::"
        "test_jobs_changed_by_an_open_transaction_that_claims_too_are_no_difference",
    "LoseDueTime": "isolation/due_job_claimed",
    "HideDueTime": "rules/test_due.py::test_a_retry_is_claimed_when_due_and_not_before",
    "CommitWithoutRelease": "rules/test_gates.py::test_a_gate_admits_as_many_as_its_slots_and_one_more_for_each_end",
    "CommitWithoutHold": "rules/test_gates.py::test_a_run_moved_by_update_is_held_by_its_new_gates",
    "CommitWithoutWithdrawal": "mutants/test_waiting_sessions.py::test_a_session_goes_on_when_the_job_it_waits_for_is_gone",
    "KeepReservationsCutShort":
        "mutants/test_cut_short.py::test_a_callback_that_is_cut_short_leaves_no_room_reserved",
    "AllowPrepare": "rules/test_transactions.py::test_prepare_transaction_after_changing_jobs_is_refused",
    "IgnoreTruncate": "isolation/jobs_truncated",
    "IgnoreSetting": "rules/test_gates.py::test_a_limit_holds_from_the_next_claim_on_and_interrupts_nobody",
    "IgnoreDefaultRow": "mutants/test_defaults.py::test_a_default_row_holds_for_gates_that_were_met_before",
    "AcceptNonsense": "regress/dml",
    "IgnoreLane": "isolation/priority_changed",
    "IgnoreRunAt": "rules/test_due.py::test_run_at_moved_by_update_counts",
    "RebuildSeesItself": f"{_REBUILT}[claimed-COMMIT]",
    "UseStaleMemory": "isolation/rebuild",
    "UseForeignSlot":
        "faults/test_rebuild.py::test_an_extension_made_again_knows_nothing_of_the_one_before",
    "FinishAnyAttempt": f"{_FENCED}[a release and a claim-complete]",
    "FailAnyAttempt": f"{_FENCED}[a release and a claim-fail]",
    "ReleaseAnyAttempt": f"{_FENCED}[a release and a claim-release]",
    "StumbleOverLockedRows": "rules/test_transactions.py::test_a_job_row_locked_by_somebody_is_passed_over_until_it_is_let_go",
    "WaitForLockedRows": "rules/test_transactions.py::test_a_job_row_locked_by_somebody_is_passed_over_until_it_is_let_go",
    "LookBeforeTaking": "mutants/test_unique_race.py::test_a_key_that_is_being_taken_is_waited_for",
    "MoveReleasedJob": "rules/test_sessions.py::test_a_released_job_keeps_its_place_in_the_session",
    "FreeSessionOnRetry": "rules/test_sessions.py::test_a_job_waiting_to_be_retried_holds_its_session_and_is_next",
    "HoldOtherSession": "rules/test_sessions.py::test_a_job_that_held_its_session_waits_its_turn_in_another[by UPDATE]",
    "LookNowhereElse": "faults/test_overflow.py::test_a_claim_finds_what_may_run_wherever_its_lane_is",
    "CountReleasedAttempt": "rules/test_finish.py::test_a_release_does_not_count_the_attempt",
    "PreferDefaultRow": "rules/test_gates.py::test_a_row_without_slots_is_no_limit_whatever_the_default[tenant]",
    "ForgetAges": "rules/test_ageing.py::test_a_step_is_gained_for_each_interval",
    "DateNobody": "rules/test_ageing.py::test_what_comes_after_the_first_claim_is_dated_too",
    "TrustAnyPosition": "rules/test_ageing.py::test_a_position_set_by_hand_dates_nobody_else",
    "TellNobody": "rules/test_listening.py::test_a_job_of_a_late_commit_is_told",
    "KeepReadSettings": "rules/test_listening.py::test_an_application_can_turn_it_off[default-default]",
    "TellNoDatabase": "rules/test_listening.py::test_an_undone_claim_is_told[ROLLBACK]",
}  # fmt: skip
