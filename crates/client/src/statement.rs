//! Statements with the types of their parameters: so they are sent without being prepared first, which suits any pooler.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, GenericClient, Row};

pub(crate) type Value<'a> = &'a (dyn ToSql + Sync);

pub(crate) struct Statement {
    pub text: &'static str,
    pub types: &'static [Type],
}

impl Statement {
    pub(crate) async fn rows(
        &self,
        client: &impl GenericClient,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        let typed: Vec<_> = values
            .iter()
            .copied()
            .zip(self.types.iter().cloned())
            .collect();
        client.query_typed(self.text, &typed).await
    }

    /// In a transaction of its own that is READ COMMITTED, whatever the default of the session; in the same round trip.
    pub(crate) async fn rows_as_committed(
        &self,
        client: &impl GenericClient,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        let (begun, rows, ended) = futures_util::join!(
            client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"),
            self.rows(client, values),
            client.batch_execute("COMMIT"),
        );
        begun?;
        let rows = rows?;
        ended.map(|()| rows)
    }

    pub(crate) async fn row(
        &self,
        client: &impl GenericClient,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(client, values).await?.into_iter().next())
    }
}
