//! A group of appends as the server is asked: columns of arrays, one element an append.

use tokio_postgres::types::{ToSql, Type};
use windlass_core::Seq;
use windlass_ports::{ChainLink, SessionSummary, StoreError, StoreErrorKind};

use crate::database::Database;
use crate::gather::AppendJob;

/// Asks the server to keep a group, and tells of each append whether it did.
///
/// # Errors
/// `Unavailable`, `Full`, `ReadOnly`, `Io`: then nobody knows.
pub(crate) async fn append_group(
    database: &Database,
    group: &[AppendJob],
) -> Result<Vec<bool>, StoreError> {
    let mut kept = vec![false; group.len()];
    // Claims of an earlier lease of this node stand beside those of the present one, once.
    let mut owners: Vec<i64> = group.iter().map(|job| job.slot.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    for owner in owners {
        let of_owner = |(_, job): &(usize, &AppendJob)| job.slot.owner == owner;
        let numbered = group.iter().enumerate().filter(of_owner);
        let (places, jobs): (Vec<usize>, Vec<&AppendJob>) = numbered.unzip();
        for place in append_under_lease(database, owner, &jobs).await? {
            let place = usize::try_from(place).ok().and_then(|at| at.checked_sub(1));
            let place = place.and_then(|at| places.get(at));
            if let Some(kept) = place.and_then(|at| kept.get_mut(*at)) {
                *kept = true;
            }
        }
    }
    Ok(kept)
}

/// The same for the claims of one lease; tells the places of those that were kept, from 1 on.
async fn append_under_lease(
    database: &Database,
    owner: i64,
    jobs: &[&AppendJob],
) -> Result<Vec<i32>, StoreError> {
    const SQL: &str = "select SCHEMA.keep_counted($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
        $13)";
    let column = AppendColumns { jobs };
    let ids = column.of(|job| job.session.as_str());
    let epochs = column.of(|job| job.slot.epoch.0.cast_signed());
    let afters = column.of(|job| position(job.after));
    let lasts = column.of(|job| position(job.end.last));
    let crcs = column.of(|job| job.crc);
    let links = column.of(|job| &job.end.link.0[..]);
    let bodies = column.of(|job| job.body.as_slice());
    let waiting = column.of(|job| {
        let waiting = summary(job).map_or(0, |summary| summary.waiting_inputs);
        i32::try_from(waiting).unwrap_or(i32::MAX)
    });
    let changed = column.of(|job| summary(job).map_or(0, |told| told.changed_at.0.cast_signed()));
    let turning = column.of(|job| summary(job).is_some_and(|summary| summary.turn_open));
    let tenants = column.of(|job| summary(job)?.tenant.as_deref().map(str::as_bytes));
    let bytes = column.of(|job| summary(job)?.bytes.map(u64::cast_signed));
    let params: [(&(dyn ToSql + Sync), Type); 13] = [
        (&owner, Type::INT8),
        (&ids, Type::TEXT_ARRAY),
        (&epochs, Type::INT8_ARRAY),
        (&afters, Type::INT4_ARRAY),
        (&lasts, Type::INT4_ARRAY),
        (&crcs, Type::INT4_ARRAY),
        (&links, Type::BYTEA_ARRAY),
        (&bodies, Type::BYTEA_ARRAY),
        (&waiting, Type::INT4_ARRAY),
        (&changed, Type::INT8_ARRAY),
        (&turning, Type::BOOL_ARRAY),
        (&tenants, Type::BYTEA_ARRAY),
        (&bytes, Type::INT8_ARRAY),
    ];
    let rows = database.rows_often("appending", SQL, &params).await?;
    let places: Option<Vec<i32>> = rows.first().and_then(|row| row.get(0));
    Ok(places.unwrap_or_default())
}

fn summary(job: &AppendJob) -> Option<&SessionSummary> {
    job.end.summary.as_ref()
}

/// Jobs, to be turned into columns.
struct AppendColumns<'a> {
    jobs: &'a [&'a AppendJob],
}

impl<'a> AppendColumns<'a> {
    fn of<T>(&self, value: impl Fn(&'a AppendJob) -> T) -> Vec<T> {
        self.jobs.iter().map(|job| value(job)).collect()
    }
}

/// A position as the tables have it. What is larger is behind every log.
pub(crate) fn position(seq: Seq) -> i32 {
    i32::try_from(seq.0).unwrap_or(i32::MAX)
}

/// State of a claim.
pub(crate) enum ClaimStatus {
    /// It is not the latest, was given back, or the node's lease is over.
    Other,
    /// It is the latest, and the log ends here.
    Ours { last: Seq, link: ChainLink },
}

/// Returns the states of these appends' claims.
///
/// # Errors
/// `Unavailable`, `Io`.
pub(crate) async fn claim_status(
    database: &Database,
    jobs: &[AppendJob],
) -> Result<Vec<ClaimStatus>, StoreError> {
    const SQL: &str = "select s.last, s.link, \
        coalesce(s.epoch = g.epoch and s.owner = g.owner and SCHEMA.alive(s.owner), false) \
        from unnest($1, $2, $3) with ordinality as g (id, epoch, owner, place) \
        left join SCHEMA.sessions s using (id) order by g.place";
    let ids: Vec<&str> = jobs.iter().map(|job| job.session.as_str()).collect();
    let epochs = jobs.iter().map(|job| job.slot.epoch.0.cast_signed());
    let epochs: Vec<i64> = epochs.collect();
    let owners: Vec<i64> = jobs.iter().map(|job| job.slot.owner).collect();
    let params: [(&(dyn ToSql + Sync), Type); 3] =
        [(&ids, Type::TEXT_ARRAY), (&epochs, Type::INT8_ARRAY), (&owners, Type::INT8_ARRAY)];
    let rows = database.rows("appending", SQL, &params).await?;
    if rows.len() != jobs.len() {
        let context = format!("appending in {}: an answer of another length", database.location);
        return Err(StoreError::new(StoreErrorKind::Io, context));
    }
    let standing = rows.iter().map(|row| {
        let ours: bool = row.get(2);
        let last: Option<i32> = row.get(0);
        let link: Option<&[u8]> = row.get(1);
        match (ours, last, link.and_then(|link| link.try_into().ok())) {
            (true, Some(last), Some(link)) => {
                ClaimStatus::Ours { last: seq(last), link: ChainLink(link) }
            }
            _ => ClaimStatus::Other,
        }
    });
    Ok(standing.collect())
}

/// A position of the tables.
pub(crate) fn seq(position: i32) -> Seq {
    Seq(u64::try_from(position).unwrap_or(0))
}
