//! What can go wrong, as SQLSTATE, message, DETAIL and HINT.

use pgrx::pg_sys::elog::PgLogLevel;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::PgSqlErrorCode;
use std::borrow::Cow;

/// An error on its way to the client.
#[derive(Debug)]
pub struct Failure {
    code: PgSqlErrorCode,
    message: String,
    detail: Option<String>,
    hint: Option<Cow<'static, str>>,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(code: PgSqlErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same about one element of an array.
    pub fn of_element(mut self, ord: i32) -> Self {
        self.message = format!("element {ord}: {}", self.message);
        self
    }

    /// In one line, for a table.
    pub fn told(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.clone(),
        }
    }

    /// Raises the error; the transaction aborts.
    #[expect(
        clippy::unreachable,
        reason = "the type of a report does not say that one of an error never returns"
    )]
    pub fn raise(self) -> ! {
        self.report(PgLogLevel::ERROR);
        unreachable!("an error report at level ERROR does not return")
    }

    /// Sends a WARNING, and goes on.
    pub fn warn(self) {
        self.report(PgLogLevel::WARNING);
    }

    fn report(self, level: PgLogLevel) {
        let mut report = ErrorReport::new(self.code, self.message, "turnstile");
        if let Some(detail) = self.detail {
            report = report.set_detail(detail);
        }
        if let Some(hint) = self.hint {
            report = report.set_hint(hint);
        }
        report.report(level);
    }
}

/// Sends the client a NOTICE.
pub fn notice(message: impl Into<String>) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    ErrorReport::new(code, message.into(), "turnstile").report(PgLogLevel::NOTICE);
}

/// Writes to the server's log, and tells the client nothing.
pub fn log(message: impl Into<String>, detail: impl Into<String>) {
    Failure::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
        .detail(detail)
        .report(PgLogLevel::LOG_SERVER_ONLY);
}

pub fn null_argument(name: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("{name} must not be null"),
    )
    .detail(format!("The argument \"{name}\" is NULL."))
    .hint("Pass a value, or leave the argument out where it has a default.")
}

pub fn null_element(name: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        format!("{name} must not contain null"),
    )
    .detail(format!("An element of the array \"{name}\" is NULL."))
    .hint("Leave the element out.")
}

pub fn bad_value(message: impl Into<String>) -> Failure {
    Failure::new(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message)
}

pub fn too_long(message: impl Into<String>) -> Failure {
    Failure::new(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message)
}

pub fn too_many(name: &str, most: usize) -> Failure {
    too_long(format!("{name} has too many elements"))
        .detail(format!("{most} are allowed, of ordinary length."))
        .hint("Make several calls.")
}

/// A value from the client, for a message: a long one is cut.
pub fn quoted(value: &str) -> String {
    const LONGEST: usize = 100;
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("\"{}\"…", value.get(..end).unwrap_or_default()),
        None => format!("\"{value}\""),
    }
}

/// Words for a message: "a, b or c".
pub fn listed(words: &[&str], last: &str) -> String {
    match words {
        [others @ .., end] if !others.is_empty() => format!("{} {last} {end}", others.join(", ")),
        words => words.concat(),
    }
}

pub fn no_such_job(job_id: i64) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_NO_DATA_FOUND,
        format!("job {job_id} does not exist"),
    )
    .detail(format!(
        "Neither turnstile.job nor turnstile.job_history has a row with id {job_id}."
    ))
    .hint("Its history may have been dropped, its queue may keep no completed jobs, or the transaction that enqueued it rolled back.")
}

pub fn superseded(job_id: i64, attempt: i32, state: &str, current: i32) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("attempt {attempt} of job {job_id} is not running"),
    )
    .detail(format!(
        "The job is {state} and its latest attempt is {current}."
    ))
    .hint("The run was finished or taken over; drop its result and claim another job.")
}

pub fn only_for_owner(function: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        format!("permission denied to call {function}"),
    )
    .detail("The caller does not have the rights of the extension's owner.")
    .hint("The server calls it.")
}

pub fn recreated() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
        "the extension was dropped during the call",
    )
    .detail("turnstile.job is another table than when the call began.")
    .hint("Call again.")
}

pub fn not_preloaded() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "turnstile must be loaded when the server starts",
    )
    .detail("The scheduler lives in shared memory, which is laid out at server start.")
    .hint("Add this line to postgresql.conf and restart the server: shared_preload_libraries = 'turnstile'")
}

pub fn old_catalog(library: &str, catalog: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "turnstile in this database is older than the library",
    )
    .detail(format!(
        "The library is version {library}, the database has version {catalog}."
    ))
    .hint("Run ALTER EXTENSION turnstile UPDATE in this database.")
}

pub fn old_library(library: &str, catalog: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "turnstile in this database is newer than the library",
    )
    .detail(format!(
        "The library is version {library}, the database has version {catalog}."
    ))
    .hint("Install the library of that version, unless it is installed, and restart the server.")
}

pub fn renamed_schema(schema: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "the schema turnstile was renamed",
    )
    .detail(format!("Its name is {} now.", quoted(schema)))
    .hint("Give it its name back, with ALTER SCHEMA … RENAME TO turnstile.")
}

pub fn on_standby() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        "jobs cannot be changed on a standby",
    )
    .detail("The server is in recovery.")
    .hint("Connect to the primary.")
}

pub fn read_only() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        "jobs cannot be changed in a read-only transaction",
    )
    .detail("The transaction was started as READ ONLY.")
    .hint("Start a transaction that is READ WRITE.")
}

pub fn not_of_type(kind: &str, column: usize) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!("a column of the extension's tables is not of type {kind}"),
    )
    .detail(format!("It is column {column}."))
    .hint("Give the column its type back.")
}

pub fn internal(message: impl Into<String>) -> Failure {
    Failure::new(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, message)
}

pub fn not_a_trigger() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        "this function can only be called as a trigger",
    )
    .detail("It was called in a query.")
    .hint("The extension creates the triggers that call it.")
}

pub fn foreign_trigger() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "this function cannot serve this trigger",
    )
    .detail("It serves only the triggers that the extension creates on its own tables.")
    .hint("Drop the trigger.")
}

pub fn no_room(what: &str, detail: impl Into<String>) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!("the system has no memory for {what}"),
    )
    .detail(detail)
    .hint("TABLE turnstile.memory shows what the scheduler has.")
}

/// Some lanes are left to the tables.
pub fn memory_is_full(database: u32) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        format!("the scheduler of the database with OID {database} has no more memory"),
    )
    .detail("Lanes of the queues and tenants with the most of them are left to the tables: these run less exactly in order.")
    .hint("TABLE turnstile.memory shows what each database has. Raise turnstile.max_memory, which needs no restart.")
}

/// The system did not give what a scheduler needs to begin with.
pub fn out_of_memory(refusal: std::io::Error) -> Failure {
    no_room(
        "the scheduler of this database",
        format!("It says: {refusal}."),
    )
}

pub fn cancelled_by_trigger(change: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_TRIGGERED_ACTION_EXCEPTION,
        format!("a trigger has cancelled the {change} of a job"),
    )
    .detail("A BEFORE trigger for each row has returned NULL.")
    .hint("Have the trigger raise an error, or change the job in another way.")
}

pub fn changed_by_check() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
        "a constraint has changed the job that is being claimed",
    )
    .detail("A CHECK on turnstile.job calls a function that changes jobs.")
    .hint("Have a trigger AFTER UPDATE change them.")
}

pub fn never_changes(job_id: i64) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_TRIGGERED_ACTION_EXCEPTION,
        format!("job {job_id} cannot be changed"),
    )
    .detail("The job exists and waits, but a policy on turnstile.job hides it from UPDATE or DELETE.")
    .hint("Have the policies for the extension's owner allow UPDATE and DELETE of every row that they allow to SELECT.")
}

pub fn key_not_written() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_TRIGGERED_ACTION_EXCEPTION,
        "the unique key cannot be taken",
    )
    .detail("No other job has taken it, but its row of turnstile.unique_key is not written as requested: a trigger cancels or changes the write, a policy hides the row, or a unique index has another row like it.")
    .hint("Drop what is in the way, or have the trigger raise an error.")
}

pub fn not_committed(table: &std::ffi::CStr) -> Failure {
    let table = table.to_string_lossy();
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("turnstile.{table} was rewritten by this transaction"),
    )
    .detail("TRUNCATE, and changes of a table that rewrite it, hide what is committed: a claim cannot tell which limits hold for other transactions.")
    .hint("Commit before claiming.")
}

pub fn in_serializable() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "cannot claim jobs in a SERIALIZABLE transaction",
    )
    .detail("A claim reads what is committed now, and limits that are not in rows; neither takes part in the detection of conflicts.")
    .hint("Claim in a transaction that is READ COMMITTED or REPEATABLE READ.")
}

pub fn own_run_is_open(job_id: i64, attempt: i32) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("cannot commit while attempt {attempt} of job {job_id} runs"),
    )
    .detail("claim_own has started the run past all limits.")
    .hint("End the run before the commit, or roll back.")
}

/// One transaction claims in one way only.
pub fn mixed_claims() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot claim both own and committed jobs in one transaction",
    )
    .detail(
        "Jobs that claim_own starts count nowhere, and those that others start count everywhere.",
    )
    .hint("Use another transaction.")
}

pub fn cannot_prepare() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "cannot PREPARE a transaction that has changed jobs",
    )
    .detail("Room reserved for its jobs could not be accounted for after a restart.")
    .hint("Commit it in one phase, or enqueue the job from a transaction of its own.")
}
