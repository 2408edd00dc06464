//! Blobs: chunks in rows. A blob has no name, and so is not there, until it is whole.

use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_postgres::types::Type;
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, Durability, StoreError,
    is_blob_name,
};

use crate::background::StoreLeaseGuard;
use crate::database::Database;

/// Bytes of each chunk but the last of a blob.
const CHUNK: usize = 256 * 1024;
/// The most chunks that are read in one statement.
const PAGE: u64 = 16;

/// Blobs in PostgreSQL, beside the logs of a [`PostgresStore`](crate::PostgresStore).
#[derive(Clone)]
pub struct PostgresBlobs {
    presence: Arc<StoreLeaseGuard>,
    most: u64,
    durability: Durability,
}

impl PostgresBlobs {
    pub(crate) fn new(presence: &Arc<StoreLeaseGuard>, most: u64, durability: Durability) -> Self {
        Self { presence: Arc::clone(presence), most, durability }
    }

    fn database(&self) -> &Database {
        &self.presence.shared.database
    }

    /// Returns the size of a blob in bytes.
    async fn bytes(&self, session: &SessionId, sha256: &str) -> Result<u64, BlobError> {
        let none = || BlobError::not_found(session, sha256);
        if !is_blob_name(sha256) {
            return Err(none());
        }
        let doing = format!("reading a blob of session {session}");
        let sql = "select bytes from SCHEMA.blobs where session = $1 and name = $2";
        let params = &[(&session.as_str() as _, Type::TEXT), (&sha256 as _, Type::TEXT)];
        let rows = self.database().rows(&doing, sql, params).await;
        let rows = rows.map_err(blob_error)?;
        let bytes = rows.first().map(|row| row.get::<_, i64>(0));
        bytes.and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(none)
    }

    /// Some chunks from one on, in order; as far as they are there without a gap.
    async fn chunks(
        &self,
        session: &SessionId,
        sha256: &str,
        first: u64,
        count: u64,
    ) -> Result<Vec<Vec<u8>>, BlobError> {
        const SQL: &str = "select c.chunk, c.body from SCHEMA.blobs b \
            join SCHEMA.chunks c using (blob) \
            where b.session = $1 and b.name = $2 and c.chunk >= $3 and c.chunk < $4 \
            order by c.chunk";
        let chunk = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
        let doing = format!("reading a blob of session {session}");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&sha256 as _, Type::TEXT),
            (&chunk(first) as _, Type::INT4),
            (&chunk(first.saturating_add(count)) as _, Type::INT4),
        ];
        let rows = self.database().rows(&doing, SQL, params).await;
        let rows = rows.map_err(blob_error)?;
        let numbered = (chunk(first)..).zip(rows);
        let there = numbered.take_while(|(number, row)| row.get::<_, i32>(0) == *number);
        Ok(there.map(|(_, row)| row.get(1)).collect())
    }

    fn corrupt(&self, session: &SessionId, sha256: &str, kind: BlobErrorKind) -> BlobError {
        let context = format!(
            "the blob {sha256} of session {session} in {} is not what was written; restore the \
             database from a backup",
            self.database().location
        );
        BlobError::new(kind, context)
    }
}

#[async_trait]
impl BlobStore for PostgresBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: self.durability, max_bytes: self.most }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        // What nodes that are gone did not finish goes with what is begun.
        const SQL: &str = "with gone as (\
                delete from SCHEMA.blobs b where b.session = $1 and b.name is null \
                and not coalesce(SCHEMA.alive(b.owner), false)\
            ) insert into SCHEMA.blobs (session, owner) values ($1, $2) returning blob";
        let shared = &self.presence.shared;
        let owner = shared.node.lease().await.map_err(blob_error)?;
        let doing = format!("beginning a blob of session {session}");
        let params = &[(&session.as_str() as _, Type::TEXT), (&owner as _, Type::INT8)];
        let rows = shared.database.rows(&doing, SQL, params).await;
        let rows = rows.map_err(blob_error)?;
        let blob = rows.first().map(|row| row.get(0));
        let blob = blob.ok_or_else(|| BlobError::new(BlobErrorKind::Io, doing))?;
        Ok(Box::new(PostgresBlobWriter {
            presence: Arc::clone(&self.presence),
            session: session.clone(),
            blob,
            most: self.most,
            hash: Sha256::new(),
            bytes: 0,
            chunks: 0,
            buffer: Vec::new(),
            state: UploadState::Whole,
        }))
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        let bytes = self.bytes(session, sha256).await?;
        let end = offset.saturating_add(limit as u64).min(bytes);
        let mut read = Vec::new();
        let mut at = offset;
        while at < end {
            let first = at / CHUNK as u64;
            let last = (end - 1) / CHUNK as u64;
            let count = (last - first + 1).min(PAGE);
            let chunks = self.chunks(session, sha256, first, count).await?;
            let gap = || self.corrupt(session, sha256, BlobErrorKind::Io);
            if chunks.is_empty() {
                return Err(gap());
            }
            for (number, chunk) in (first..).zip(chunks) {
                let begins = number * CHUNK as u64;
                let from = usize::try_from(at - begins).unwrap_or(usize::MAX);
                let to = usize::try_from((end - begins).min(CHUNK as u64)).unwrap_or(usize::MAX);
                read.extend(chunk.get(from..to).ok_or_else(gap)?);
                at = begins + to as u64;
            }
        }
        Ok(read)
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        let bytes = self.bytes(session, sha256).await?;
        let (mut hash, mut seen, mut first) = (Sha256::new(), 0, 0);
        loop {
            let chunks = self.chunks(session, sha256, first, PAGE).await?;
            for chunk in &chunks {
                hash.update(chunk);
                seen += chunk.len() as u64;
            }
            if (chunks.len() as u64) < PAGE {
                break;
            }
            first += PAGE;
        }
        if seen != bytes || name(hash) != sha256 {
            return Err(self.corrupt(session, sha256, BlobErrorKind::Corrupt));
        }
        Ok(StoredOutput { sha256: sha256.to_owned(), bytes })
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let sql = "delete from SCHEMA.blobs b where b.session = $1 \
                   and (b.name is not null or not coalesce(SCHEMA.alive(b.owner), false))";
        let doing = format!("erasing the blobs of session {session}");
        let params = &[(&session.as_str() as _, Type::TEXT)];
        let rows = self.database().rows(&doing, sql, params).await;
        rows.map_err(blob_error).map(|_| ())
    }
}

/// State of a blob that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UploadState {
    Whole,
    /// A write is under way, or did not end.
    Torn,
    Finished,
}

struct PostgresBlobWriter {
    presence: Arc<StoreLeaseGuard>,
    session: SessionId,
    blob: i64,
    most: u64,
    hash: Sha256,
    bytes: u64,
    chunks: i32,
    buffer: Vec<u8>,
    state: UploadState,
}

impl PostgresBlobWriter {
    /// Sends what is in the buffer as the next chunk.
    async fn flush(&mut self) -> Result<(), BlobError> {
        let sql = "insert into SCHEMA.chunks (blob, chunk, body) values ($1, $2, $3) \
                   on conflict do nothing";
        let doing = format!("writing a blob of session {}", self.session);
        let params = &[
            (&self.blob as _, Type::INT8),
            (&self.chunks as _, Type::INT4),
            (&self.buffer.as_slice() as _, Type::BYTEA),
        ];
        let database = &self.presence.shared.database;
        let written = database.rows(&doing, sql, params).await;
        written.map_err(blob_error)?;
        self.chunks += 1;
        self.buffer.clear();
        Ok(())
    }

    fn whole(&self) -> Result<(), BlobError> {
        if self.state == UploadState::Whole {
            return Ok(());
        }
        let context = format!(
            "a blob of session {} cannot be finished, for one of its writes did not end",
            self.session
        );
        Err(BlobError::new(BlobErrorKind::Io, context))
    }
}

#[async_trait]
impl BlobWriter for PostgresBlobWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.whole()?;
        self.state = UploadState::Torn;
        let room = usize::try_from(self.most - self.bytes).unwrap_or(usize::MAX);
        let mut bytes = bytes.get(..room).unwrap_or(bytes);
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let count = (CHUNK - self.buffer.len()).min(bytes.len());
            let (piece, rest) = bytes.split_at(count);
            self.buffer.extend_from_slice(piece);
            bytes = rest;
            if self.buffer.len() == CHUNK {
                self.flush().await?;
            }
        }
        self.state = UploadState::Whole;
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        const SQL: &str = "select SCHEMA.finish($1, $2, $3, $4)";
        self.whole()?;
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        let kept = StoredOutput { sha256: name(self.hash.clone()), bytes: self.bytes };
        let doing = format!("finishing a blob of session {}", self.session);
        let params = &[
            (&self.blob as _, Type::INT8),
            (&self.session.as_str() as _, Type::TEXT),
            (&kept.sha256 as _, Type::TEXT),
            (&self.bytes.cast_signed() as _, Type::INT8),
        ];
        let rows = self.presence.shared.database.rows(&doing, SQL, params);
        let rows = rows.await.map_err(blob_error)?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            let what = "some of it was taken away, for this node's lease was over; write it again";
            let context = format!("{doing}: {what}");
            return Err(BlobError::new(BlobErrorKind::Io, context));
        }
        self.state = UploadState::Finished;
        Ok(kept)
    }
}

impl Drop for PostgresBlobWriter {
    fn drop(&mut self) {
        if self.state == UploadState::Finished {
            return;
        }
        let (presence, blob) = (Arc::clone(&self.presence), self.blob);
        let runtime = self.presence.runtime.clone();
        runtime.spawn(async move {
            let sql = "delete from SCHEMA.blobs where blob = $1 and name is null";
            let params = &[(&blob as _, Type::INT8)];
            let doing = "giving up a blob";
            if let Err(error) = presence.shared.database.rows(doing, sql, params).await {
                tracing::debug!(%error, "an unfinished blob stays until this node is gone");
            }
        });
    }
}

fn name(hash: Sha256) -> String {
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn blob_error(error: StoreError) -> BlobError {
    error.into_kind()
}
