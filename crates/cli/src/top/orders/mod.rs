//! What can be done to a row: pause it, and resume it.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::sheets::Subject;
use crate::error::Error;

const PAUSE_QUEUE: &str = include_str!("pause_queue.sql");
const RESUME_QUEUE: &str = include_str!("resume_queue.sql");
const PAUSE_TENANT: &str = include_str!("pause_tenant.sql");
const RESUME_TENANT: &str = include_str!("resume_tenant.sql");
const PAUSE_BATCH: &str = include_str!("pause_batch.sql");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Pause,
    Resume,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub verb: Verb,
    pub subject: Subject,
}

impl Order {
    /// `None` where there is nothing to pause: a worker is no limit.
    pub fn new(verb: Verb, subject: &Subject) -> Option<Self> {
        match subject {
            Subject::Worker(_) => None,
            _ => Some(Order {
                verb,
                subject: subject.clone(),
            }),
        }
    }

    pub fn question(&self) -> String {
        let meaning = match self.verb {
            Verb::Pause => "None of its jobs starts until it is resumed; runs go on.",
            Verb::Resume => "Its jobs start again.",
        };
        format!("{} {}? {meaning}", self.verb.word(), self.subject)
    }

    pub fn done(&self) -> String {
        let done = match self.verb {
            Verb::Pause => "is paused",
            Verb::Resume => "goes on",
        };
        format!("{} {done}", self.subject)
    }

    pub async fn carry_out(&self, client: &Client) -> Result<(), Error> {
        let is_pause = self.verb == Verb::Pause;
        match &self.subject {
            Subject::Queue(name) => {
                by_name(
                    client,
                    if is_pause { PAUSE_QUEUE } else { RESUME_QUEUE },
                    name,
                )
                .await
            }
            Subject::Tenant(name) => {
                by_name(
                    client,
                    if is_pause {
                        PAUSE_TENANT
                    } else {
                        RESUME_TENANT
                    },
                    name,
                )
                .await
            }
            Subject::Batch(id) => {
                client
                    .query_typed(PAUSE_BATCH, &[(id, Type::INT8), (&is_pause, Type::BOOL)])
                    .await?;
                Ok(())
            }
            Subject::Worker(_) => Ok(()),
        }
    }
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Verb::Pause => "Pause",
            Verb::Resume => "Resume",
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Queue(name) => write!(formatter, "the queue {name}"),
            Subject::Tenant(name) => write!(formatter, "the tenant {name}"),
            Subject::Batch(id) => write!(formatter, "the batch {id}"),
            Subject::Worker(name) => write!(
                formatter,
                "the worker {}",
                name.as_deref().unwrap_or("without a name")
            ),
        }
    }
}

async fn by_name(client: &Client, sql: &str, name: &String) -> Result<(), Error> {
    client.query_typed(sql, &[(name, Type::TEXT)]).await?;
    Ok(())
}
