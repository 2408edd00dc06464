//! The database: a bounded pool of connections, and one way to ask that outlasts a lost connection.
//!
//! Each statement is one transaction, is sent unnamed with its types and sets nothing in its session,
//! so that a pooler in transaction mode may stand between; but what is sent all the time is prepared
//! where the settings say that it may be. Each may be asked again: whatever it does,
//! doing it twice is doing it once, or is told apart.

use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime};
use deadpool_postgres::{Object, Timeouts};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::config::PostgresConfig;
use crate::error::{AWAY, ErrorMeaning, failed, meaning};
use crate::tls;

/// The first wait before asking again; each is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(25);
/// The longest wait before asking again.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A parameter with its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// The database of a store.
pub(crate) struct Database {
    pool: Pool,
    /// In words, for errors.
    pub(crate) location: String,
    pub(crate) schema: String,
    patience: Duration,
    answer: Duration,
    /// Connections that only renewals go by, so that none waits behind what hangs; and how long one waits.
    renewals: Pool,
    renewal: Duration,
    prepared: bool,
}

/// Protocol by which a statement is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StatementMode {
    /// With its text each time.
    Unnamed,
    /// Prepared once a connection.
    Prepared,
}

/// Result of a statement, and whether an earlier try may have had its effect.
pub(crate) struct QueryResult {
    pub(crate) rows: Vec<Row>,
    pub(crate) tried_before: bool,
}

impl Database {
    /// Makes the pool. Connects to nothing yet.
    ///
    /// # Errors
    /// `Invalid` when the certificates do not read.
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, StoreError> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let tls = tls::connector(config)?;
        let manager =
            || Manager::from_config(config.server.clone(), tls.clone(), recycling.clone());
        let place = config.location();
        let pool = |manager: Manager, size: usize, answer: Duration| {
            let timeouts =
                Timeouts { wait: Some(answer), create: Some(answer), recycle: Some(answer) };
            let pool = Pool::builder(manager)
                .max_size(size)
                .runtime(Runtime::Tokio1)
                .timeouts(timeouts)
                .build();
            pool.map_err(|error| {
                let context = format!("making the connections of {place} ready: {error}");
                StoreError::new(StoreErrorKind::Io, context)
            })
        };
        let (answer, renewal) = (config.answer(), config.renewal());
        Ok(Self {
            pool: pool(manager(), config.pool, answer)?,
            renewals: pool(manager(), 1, renewal)?,
            location: place,
            schema: config.schema.clone(),
            patience: config.patience,
            answer,
            renewal,
            prepared: config.prepared,
        })
    }

    /// The text of a statement for this schema.
    pub(crate) fn sql(&self, text: &str) -> String {
        text.replace("SCHEMA", &self.schema)
    }

    /// Asks, and asks again for as long as the patience lasts where the connection was lost or the
    /// server is away.
    ///
    /// # Errors
    /// `Unavailable` when the patience is over, and what the server says.
    pub(crate) async fn ask(
        &self,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<QueryResult, StoreError> {
        self.ask_as(StatementMode::Unnamed, doing, sql, params).await
    }

    async fn ask_as(
        &self,
        sent: StatementMode,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<QueryResult, StoreError> {
        let sql = self.sql(sql);
        let began = Instant::now();
        let mut wait = FIRST_WAIT;
        let mut tried_before = false;
        loop {
            let by = (&self.pool, self.answer);
            let lost = match self.attempt(by, sent, doing, &sql, params).await {
                Ok(rows) => return Ok(QueryResult { rows, tried_before }),
                Err(QueryAttempt::Failed(error)) => return Err(error),
                Err(QueryAttempt::Lost { error, sent }) => {
                    tried_before |= sent;
                    error
                }
            };
            if began.elapsed() + wait > self.patience {
                let mut lost = lost;
                lost.context =
                    format!("{}; it was tried for {} s", lost.context, began.elapsed().as_secs());
                return Err(lost);
            }
            tracing::debug!(%lost, "asking the database again");
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Asks for rows where it does not matter whether an earlier try came through.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) async fn rows(
        &self,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.ask(doing, sql, params).await?.rows)
    }

    /// The same for what is asked all the time: prepared, where that may be.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) async fn rows_often(
        &self,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let sent = match self.prepared {
            true => StatementMode::Prepared,
            false => StatementMode::Unnamed,
        };
        Ok(self.ask_as(sent, doing, sql, params).await?.rows)
    }

    /// Asks for what is worth nothing once it is late: briefly, by a connection that nothing else goes by,
    /// and once more by a new one where that one is lost.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) async fn renewed(
        &self,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let sql = self.sql(sql);
        let by = (&self.renewals, self.renewal);
        let asked = self.attempt(by, StatementMode::Unnamed, doing, &sql, params).await;
        let asked = match asked {
            Err(QueryAttempt::Lost { .. }) => {
                self.attempt(by, StatementMode::Unnamed, doing, &sql, params).await
            }
            asked => asked,
        };
        asked.map_err(|(QueryAttempt::Failed(error) | QueryAttempt::Lost { error, .. })| error)
    }

    /// A connection, for what takes several statements.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), without another try.
    pub(crate) async fn connection(&self, doing: &str) -> Result<Object, StoreError> {
        let got = self.pool.get().await;
        got.map_err(|error| match self.refused(doing, self.answer, error) {
            QueryAttempt::Failed(error) | QueryAttempt::Lost { error, .. } => error,
        })
    }

    async fn attempt(
        &self,
        (pool, answer): (&Pool, Duration),
        sent: StatementMode,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, QueryAttempt> {
        let got = pool.get().await;
        let client = got.map_err(|error| self.refused(doing, answer, error))?;
        let asking = async {
            if sent == StatementMode::Unnamed {
                return client.query_typed(sql, params).await;
            }
            let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
            let statement = client.prepare_typed_cached(sql, &types).await?;
            let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
            client.query(&statement, &values).await
        };
        let asked = tokio::time::timeout(answer, asking).await;
        let Ok(asked) = asked else {
            // Its answer may come yet: nobody else is to get it. Those at rest may be as silent.
            drop(Object::take(client));
            pool.retain(|_, _| false);
            return Err(self.silent(doing, answer, true));
        };
        asked.map_err(|error| {
            let ErrorMeaning { passing, .. } = meaning(&error);
            if passing && client.is_closed() {
                drop(Object::take(client));
            }
            let error = failed(doing, &self.location, error);
            match passing {
                true => QueryAttempt::Lost { error, sent: true },
                false => QueryAttempt::Failed(error),
            }
        })
    }

    /// Maps a failure to get a connection.
    fn refused(&self, doing: &str, answer: Duration, error: PoolError) -> QueryAttempt {
        match error {
            PoolError::Backend(error) => {
                let ErrorMeaning { passing, .. } = meaning(&error);
                let error = failed(doing, &self.location, error);
                match passing {
                    true => QueryAttempt::Lost { error, sent: false },
                    false => QueryAttempt::Failed(error),
                }
            }
            PoolError::Timeout(_) => self.silent(doing, answer, false),
            PoolError::Closed => {
                let context = format!("{doing} in {}: the store is closed", self.location);
                QueryAttempt::Failed(StoreError::new(StoreErrorKind::Unavailable, context))
            }
            PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                let context = format!("{doing} in {}: no connection: {error}", self.location);
                QueryAttempt::Failed(StoreError::new(StoreErrorKind::Io, context))
            }
        }
    }

    fn silent(&self, doing: &str, answer: Duration, sent: bool) -> QueryAttempt {
        let context = format!(
            "{doing} in {}: no answer within {} ms; {}",
            self.location,
            answer.as_millis(),
            AWAY.remedy
        );
        let error = StoreError::new(StoreErrorKind::Unavailable, context);
        QueryAttempt::Lost { error, sent }
    }
}

/// Result of one try.
enum QueryAttempt {
    /// It would end so again.
    Failed(StoreError),
    /// It may work in a moment; where it was sent it may have been done.
    Lost { error: StoreError, sent: bool },
}
