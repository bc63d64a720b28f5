//! Where the server is and how to reach it: as libpq users expect, from a URL or conninfo string, PG… variables, the service file and
//! the password file.

mod conninfo;
mod failure;
mod files;
mod keywords;
mod parameters;
mod pool;
mod session;
mod settings;
mod tls;

use clap::Args;

use crate::error::Error;
pub use failure::Failure;
use parameters::Parameters;
pub use pool::Pool;
pub use session::Session;
pub use settings::Settings;

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct Options {
    /// The database: a name, a URL (postgresql://…) or a conninfo string (host=… dbname=…)
    ///
    /// What it leaves out comes from the environment (PGHOST, PGPORT, PGUSER, PGDATABASE, PGSERVICE, PGSSLMODE and so on), and passwords
    /// from PGPASSWORD or the password file, as for psql.
    #[arg(short, long, global = true, value_name = "DATABASE")]
    pub database: Option<String>,
}

impl Options {
    /// `application_name`: unless the user gives another.
    pub fn settings(&self, application_name: &str) -> Result<Settings, Error> {
        let mut parameters = match self.database.as_deref() {
            Some(text) => conninfo::read(text)?,
            None => Parameters::default(),
        };
        files::add_service(&mut parameters)?;
        parameters.add_environment();
        parameters.set_default("application_name", application_name);
        settings::make(parameters)
    }
}
