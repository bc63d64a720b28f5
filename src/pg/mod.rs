//! What the extension knows of PostgreSQL. No other folder reads the server's structures, or calls its functions for
//! more than memory, rows and waiting.

pub mod call; // arguments and results of SQL functions
pub mod catalog; // the extension's own tables
pub mod catalog_row; // rows of the server's catalog
pub mod commit; // whether the end of the transaction waits for the disk
pub mod compat; // what differs between versions of the server
pub mod error; // what can go wrong
pub mod estimates; // what the planner is told of tables
pub mod foreign_code; // code of users that runs when rows are written
pub mod functions; // how Rust functions become SQL functions
pub mod index; // indexes as the catalog describes them
pub mod jsonb; // values inside of a jsonb
pub mod locks; // who has changed a table
pub mod log_position; // a place in the server's log
pub mod output; // the rows that a function returns
pub mod pause; // calls that test builds can stop halfway
pub mod planning; // what the planner may choose
pub mod raised; // errors of the server, passed on as they were raised
pub mod relation; // copies of what the relation cache holds
pub mod rights; // the caller, and the owner's rights
pub mod roles; // what roles are members of
pub mod room; // whether the system has memory left
pub mod rounds; // loops that begin again because another transaction was faster
pub mod seeded; // mechanisms that test builds can leave out
#[cfg(feature = "seeded_faults")]
pub mod seeded_statements; // those that are statements
pub mod sequence; // the page of a sequence
pub mod served; // the catalogs that this library can serve
pub mod server; // time, backend, transaction
pub mod settings; // what an administrator can set
pub mod snapshot; // what is committed at one moment
pub mod spi; // runs SQL statements and reads their results
pub mod statement; // prepared statements
pub mod stored; // types of values that a row points to
pub mod trigger; // what the server tells a trigger function
pub mod tuple; // a row as stored
pub mod unguarded; // functions of the server that raise no error
pub mod word; // words that statements give
pub mod written; // a jsonb with its numbers written out
pub mod zone; // time zones
