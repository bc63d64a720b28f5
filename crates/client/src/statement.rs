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

    pub(crate) async fn row(
        &self,
        client: &impl GenericClient,
        values: &[Value<'_>],
    ) -> Result<Option<Row>, Error> {
        Ok(self.rows(client, values).await?.into_iter().next())
    }
}
