//! The leases port: rows on the database's clock.

use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::Epoch;
use windlass_ports::{
    Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases, StoreError,
};

use crate::store::PostgresStore;

const LEAST_MS: u64 = 10;
const MOST_MS: u64 = 86_400_000;
const NAME_BYTES: usize = 256;
/// Largest error of an expiry time: the travel time of a statement.
const SLACK_MS: u64 = 20;
/// Most tries for a lease that was released between two reads.
const TRIES: u32 = 10;

#[async_trait]
impl Leases for PostgresStore {
    fn capabilities(&self) -> LeaseCapabilities {
        LeaseCapabilities {
            min_ttl_ms: LEAST_MS,
            max_ttl_ms: MOST_MS,
            name_bytes: NAME_BYTES,
            slack_ms: SLACK_MS,
        }
    }

    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError> {
        const SQL: &str = "select given from SCHEMA.acquire($1, $2, $3)";
        let doing = format!("taking the lease {name:?}");
        check(&doing, name, holder)?;
        let ttl = i64::try_from(ttl_ms).ok();
        let ttl = ttl.filter(|_| (LEAST_MS..=MOST_MS).contains(&ttl_ms));
        let Some(ttl) = ttl else {
            let what = format!("{doing}: a lease lasts {LEAST_MS} to {MOST_MS} ms");
            return Err(LeaseError::new(LeaseErrorKind::Invalid, what));
        };
        for _ in 0..TRIES {
            let row = row(name);
            let params =
                &[(&row as _, Type::TEXT), (&holder as _, Type::TEXT), (&ttl as _, Type::INT8)];
            let rows = self.asked(&doing, SQL, params).await?;
            if let Some(given) = rows.first() {
                return Ok(Lease {
                    name: name.to_owned(),
                    holder: holder.to_owned(),
                    epoch: Epoch(given.get::<_, i64>(0).cast_unsigned()),
                    ttl_ms,
                });
            }
            if let Some(holding) = self.holder(name).await? {
                let context = format!("{doing}: it is held by {holding}; wait for it to end");
                return Err(LeaseError::new(LeaseErrorKind::Held(holding), context));
            }
        }
        let context = format!("{doing}: it comes and goes; try again");
        Err(LeaseError::new(LeaseErrorKind::Unavailable, context))
    }

    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError> {
        const SQL: &str = "update SCHEMA.leases \
            set until = clock_timestamp() + ttl_ms * interval '1 millisecond' \
            where name = $1 and epoch = $2 and holder = $3 returning 1";
        let doing = format!("renewing the lease {:?}", lease.name);
        let rows = self.of(&doing, SQL, lease).await?;
        if rows.is_empty() {
            let context = format!("{doing}: it is over, and it was given back or another had it");
            return Err(LeaseError::new(LeaseErrorKind::Lost, context));
        }
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
        const SQL: &str =
            "delete from SCHEMA.leases where name = $1 and epoch = $2 and holder = $3";
        let doing = format!("giving the lease {:?} back", lease.name);
        self.of(&doing, SQL, lease).await.map(|_| ())
    }

    async fn holder(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError> {
        const SQL: &str = "select holder, epoch, \
                ceil(extract(epoch from until - clock_timestamp()) * 1000)::bigint \
            from SCHEMA.leases where name = $1 and until > clock_timestamp()";
        let doing = format!("asking who holds the lease {name:?}");
        check(&doing, name, name)?;
        let row = row(name);
        let rows = self.asked(&doing, SQL, &[(&row as _, Type::TEXT)]).await?;
        Ok(rows.first().map(|row| LeaseStatus {
            holder: row.get(0),
            epoch: Epoch(row.get::<_, i64>(1).cast_unsigned()),
            remaining_ms: u64::try_from(row.get::<_, i64>(2)).unwrap_or(0),
        }))
    }
}

impl PostgresStore {
    async fn asked(
        &self,
        doing: &str,
        sql: &str,
        params: &[crate::database::Param<'_>],
    ) -> Result<Vec<Row>, LeaseError> {
        let rows = self.shared().database.rows(doing, sql, params).await;
        rows.map_err(lease_error)
    }

    async fn of(&self, doing: &str, sql: &str, lease: &Lease) -> Result<Vec<Row>, LeaseError> {
        check(doing, &lease.name, &lease.holder)?;
        let row = row(&lease.name);
        let params = &[
            (&row as _, Type::TEXT),
            (&lease.epoch.0.cast_signed() as _, Type::INT8),
            (&lease.holder as _, Type::TEXT),
        ];
        self.asked(doing, sql, params).await
    }
}

/// The name of the row: nodes have theirs beside.
fn row(name: &str) -> String {
    format!("lease/{name}")
}

fn check(doing: &str, name: &str, holder: &str) -> Result<(), LeaseError> {
    let fits = |text: &str| !text.is_empty() && text.len() <= NAME_BYTES && !text.contains('\0');
    if fits(name) && fits(holder) {
        return Ok(());
    }
    let context = format!("{doing}: a name and a holder have 1 to {NAME_BYTES} bytes, and no NUL");
    Err(LeaseError::new(LeaseErrorKind::Invalid, context))
}

fn lease_error(error: StoreError) -> LeaseError {
    error.into_kind()
}
