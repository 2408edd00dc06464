//! The bare loop over PostgreSQL: the grouped statement alone. Waiting facts are sent as arrays in
//! one prepared statement that checks each session's position and epoch, over as many connections
//! as the store uses. One row per fact; no chain, no checksum, no summary, no lease, no
//! notification.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::codec;

use super::appends::Appender;

/// Most appends of a group.
const GROUP: usize = 1_024;
/// Number of connections, the default of the store.
const WRITERS: usize = 2;

const TABLES: &str = "create schema SCHEMA;
    create table SCHEMA.heads (id text collate \"C\" primary key, epoch bigint, last integer)
        with (fillfactor = 50);
    create table SCHEMA.facts (id text collate \"C\", seq integer, body bytea, primary key (id, seq))";

const APPEND: &str = "with given as (
        select * from unnest($1::text[], $2::bigint[], $3::integer[], $4::bytea[])
            as g (id, epoch, after, body)
    ), moved as (
        update SCHEMA.heads h set last = h.last + 1 from given g
        where h.id = g.id and h.epoch = g.epoch and h.last = g.after
        returning h.id, h.last, g.body
    ), kept as (insert into SCHEMA.facts select * from moved)
    select id from moved";

struct Request {
    session: String,
    epoch: i64,
    after: i32,
    text: Vec<u8>,
    done: oneshot::Sender<bool>,
}

/// Bare loop over one PostgreSQL table.
pub(super) struct BarePostgres {
    client: Client,
    schema: String,
    requests: mpsc::Sender<Request>,
}

impl BarePostgres {
    pub(super) async fn start(url: &str, schema: &str) -> anyhow::Result<Self> {
        let (requests, waiting) = mpsc::channel(4_096);
        let waiting = Arc::new(Mutex::new(waiting));
        let client = connect(url).await?;
        client.batch_execute(&TABLES.replace("SCHEMA", schema)).await?;
        for _ in 0..WRITERS {
            let writer = connect(url).await?;
            let append = writer.prepare(&APPEND.replace("SCHEMA", schema)).await?;
            let waiting = Arc::clone(&waiting);
            tokio::spawn(async move { work(&writer, &append, &waiting).await });
        }
        let schema = schema.to_owned();
        Ok(Self { client, schema, requests })
    }
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    // The store's function has these settings too: without them the plan is made for small tables.
    let settings = "set enable_seqscan = off; set enable_hashjoin = off; \
                    set enable_mergejoin = off; set plan_cache_mode = force_generic_plan";
    client.batch_execute(settings).await?;
    Ok(client)
}

#[async_trait]
impl Appender for BarePostgres {
    async fn begin(&self, session: &SessionId) -> anyhow::Result<Epoch> {
        let sql = format!("insert into {}.heads values ($1, 1, 0)", self.schema);
        self.client.execute(&sql, &[&session.as_str()]).await?;
        Ok(Epoch(1))
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        fact: Arc<RecordedFact>,
    ) -> anyhow::Result<()> {
        let (done, wait) = oneshot::channel();
        let request = Request {
            session: session.as_str().to_owned(),
            epoch: i64::try_from(epoch.0)?,
            after: i32::try_from(after.0)?,
            text: codec::encode(&fact)?,
            done,
        };
        let sent = self.requests.send(request).await;
        sent.ok().context("the loop ended")?;
        anyhow::ensure!(wait.await?, "a write failed");
        Ok(())
    }
}

async fn work(client: &Client, append: &Statement, waiting: &Mutex<mpsc::Receiver<Request>>) {
    loop {
        let mut group = Vec::new();
        {
            let mut waiting = waiting.lock().await;
            let Some(first) = waiting.recv().await else {
                return;
            };
            group.push(first);
            while group.len() < GROUP {
                let Ok(next) = waiting.try_recv() else { break };
                group.push(next);
            }
        }
        let ids: Vec<&str> = group.iter().map(|one| one.session.as_str()).collect();
        let epochs: Vec<i64> = group.iter().map(|one| one.epoch).collect();
        let afters: Vec<i32> = group.iter().map(|one| one.after).collect();
        let texts: Vec<&[u8]> = group.iter().map(|one| one.text.as_slice()).collect();
        let columns: [&(dyn ToSql + Sync); 4] = [&ids, &epochs, &afters, &texts];
        let asked = client.query(append, &columns).await;
        let kept = asked.is_ok_and(|rows| rows.len() == group.len());
        for one in group {
            let _ = one.done.send(kept);
        }
    }
}
