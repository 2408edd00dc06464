//! Blobs: pieces in messages, and a message under the digest that says which pieces they are. A blob
//! is there once that message is.

use std::collections::HashSet;
use std::sync::Arc;

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, ChainLink, Durability,
    is_blob_name,
};

use crate::list::subjects_of;
use crate::node::Node;
use crate::server::{OutgoingMessage, Server};
use crate::server_error::ServerError;

/// The most bytes of one piece.
const PIECE_BYTES: usize = 256 * 1024;

/// Most pieces that are requested at once.
const AT_ONCE: usize = 8;

/// The most bytes that are kept of one blob, where nothing else is said.
pub(crate) const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Blobs in JetStream, beside the logs of a [`NatsStore`](crate::NatsStore).
#[derive(Debug, Clone)]
pub struct NatsBlobs {
    server: Server,
    node: Arc<Node>,
    capabilities: BlobCapabilities,
    /// Uploads of this process.
    writing: Arc<Mutex<HashSet<String>>>,
}

/// Blob that a digest names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlobManifest {
    /// The name that the pieces have in common.
    upload: String,
    /// Bytes of all of them.
    bytes: u64,
    /// Bytes of each but the last.
    piece: u64,
}

impl NatsBlobs {
    pub(crate) fn new(server: Server, node: Arc<Node>, durability: Durability) -> Self {
        Self {
            server,
            node,
            capabilities: BlobCapabilities { durability, max_bytes: MAX_BYTES },
            writing: Arc::default(),
        }
    }

    /// The same, which keeps at most so many bytes of one blob.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.capabilities.max_bytes = max_bytes;
        self
    }

    fn stream(&self) -> String {
        self.server.names.blob_stream()
    }

    fn subject(&self, session: &SessionId, rest: &str) -> String {
        self.server.names.blob_subject(session, rest)
    }

    async fn post(
        &self,
        subject: String,
        body: impl Into<Bytes>,
        expected: Option<u64>,
    ) -> Result<u64, ServerError> {
        let post =
            OutgoingMessage { subject, headers: HeaderMap::new(), body: body.into(), expected };
        self.server.post(post).await
    }

    async fn named(
        &self,
        session: &SessionId,
        sha256: &str,
    ) -> Result<Option<BlobManifest>, ServerError> {
        if !is_blob_name(sha256) {
            return Ok(None);
        }
        let subject = self.subject(session, &format!("name.{sha256}"));
        let last = self.server.last(&self.stream(), &subject).await?;
        last.map(|stored| {
            serde_json::from_slice(&stored.body)
                .map_err(|error| ServerError::Unexpected(format!("blob {sha256}: {error}")))
        })
        .transpose()
    }

    async fn piece(
        &self,
        session: &SessionId,
        named: &BlobManifest,
        index: u64,
    ) -> Result<Option<Bytes>, ServerError> {
        let subject = self.subject(session, &format!("part.{}.{index}", named.upload));
        let last = self.server.last(&self.stream(), &subject).await?;
        Ok(last.map(|stored| stored.body))
    }

    /// Pieces from one on, as far as they are there.
    async fn pieces(
        &self,
        session: &SessionId,
        named: &BlobManifest,
        first: u64,
    ) -> Result<Vec<Bytes>, ServerError> {
        let count = named.bytes.div_ceil(named.piece.max(1));
        let last = first.saturating_add(AT_ONCE as u64).min(count);
        let asked = (first..last).map(|index| self.piece(session, named, index));
        let found = try_join_all(asked).await?;
        Ok(found.into_iter().map_while(|piece| piece).collect())
    }

    /// Gives back what writers left that are gone: those of this process that were dropped, and those
    /// of nodes whose lease is over.
    async fn clean(&self, session: &SessionId) -> Result<(), ServerError> {
        let open = self.subject(session, "open.*");
        for subject in subjects_of(&self.server, &self.stream(), &open).await? {
            let Some((_, upload)) = subject.rsplit_once('.') else {
                continue;
            };
            let here = lock(&self.writing).contains(upload);
            if here || self.is_written(session, upload).await? {
                continue;
            }
            if !self.is_named(session, upload).await? {
                self.sweep_pieces(session, upload).await?;
            }
            self.server.sweep(&self.stream(), &subject, u64::MAX).await?;
        }
        Ok(())
    }

    /// Returns true if another live node writes under this name.
    async fn is_written(&self, session: &SessionId, upload: &str) -> Result<bool, ServerError> {
        let subject = self.subject(session, &format!("open.{upload}"));
        let Some(open) = self.server.last(&self.stream(), &subject).await? else {
            return Ok(false);
        };
        let node = String::from_utf8_lossy(&open.body).into_owned();
        if node == self.node.name {
            return Ok(false);
        }
        let holding = self.node.other(&node).await;
        let holding = holding.map_err(|error| ServerError::Unavailable(error.to_string()))?;
        Ok(holding.is_some())
    }

    /// Returns true if a blob has these pieces although its writer died before it recorded the end.
    async fn is_named(&self, session: &SessionId, upload: &str) -> Result<bool, ServerError> {
        let names = self.subject(session, "name.*");
        for subject in subjects_of(&self.server, &self.stream(), &names).await? {
            let sha256 = subject.rsplit('.').next().unwrap_or_default();
            let named = self.named(session, sha256).await?;
            if named.is_some_and(|named| named.upload == upload) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn sweep_pieces(&self, session: &SessionId, upload: &str) -> Result<(), ServerError> {
        let pieces = self.subject(session, &format!("part.{upload}.*"));
        self.server.sweep(&self.stream(), &pieces, u64::MAX).await
    }

    /// Says that an upload is over, whatever became of it.
    async fn close(&self, session: &SessionId, upload: &str) -> Result<(), ServerError> {
        let open = self.subject(session, &format!("open.{upload}"));
        self.server.sweep(&self.stream(), &open, u64::MAX).await
    }
}

#[async_trait]
impl BlobStore for NatsBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        self.capabilities
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let doing = format!("beginning a blob of session {session}");
        let failed = |trouble: ServerError| trouble.in_blobs(&doing);
        let lived = self.node.ensure_lease().await;
        lived.map_err(|error| failed(ServerError::Unavailable(error.to_string())))?;
        self.clean(session).await.map_err(failed)?;
        let inbox = self.server.client.new_inbox();
        let upload = inbox.rsplit('.').next().unwrap_or_default().to_owned();
        lock(&self.writing).insert(upload.clone());
        let room = self.server.client.max_payload().saturating_sub(1_024);
        let writer = NatsBlobWriter {
            blobs: self.clone(),
            session: session.clone(),
            upload: upload.clone(),
            held: Vec::new(),
            piece: PIECE_BYTES.min(room.max(1)),
            posted: 0,
            bytes: 0,
            digest: Sha256::new(),
            broken: false,
        };
        let open = self.subject(session, &format!("open.{upload}"));
        let opened = self.post(open, self.node.name.clone(), None).await;
        opened.map_err(failed)?;
        Ok(Box::new(writer))
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        let doing = format!("reading a blob of session {session}");
        let failed = |trouble: ServerError| trouble.in_blobs(&doing);
        let named = self.named(session, sha256).await.map_err(failed)?;
        let named = named.ok_or_else(|| BlobError::not_found(session, sha256))?;
        let mut read = Vec::new();
        let mut index = offset / named.piece.max(1);
        let mut skip = usize::try_from(offset % named.piece.max(1)).unwrap_or(usize::MAX);
        while offset < named.bytes && read.len() < limit {
            let pieces = self.pieces(session, &named, index).await.map_err(failed)?;
            if pieces.is_empty() {
                break;
            }
            for piece in pieces {
                let rest = piece.get(skip..).unwrap_or_default();
                let room = limit - read.len();
                read.extend_from_slice(rest.get(..room).unwrap_or(rest));
                (skip, index) = (0, index + 1);
            }
        }
        Ok(read)
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        let doing = format!("verifying a blob of session {session}");
        let failed = |trouble: ServerError| trouble.in_blobs(&doing);
        let named = self.named(session, sha256).await.map_err(failed)?;
        let named = named.ok_or_else(|| BlobError::not_found(session, sha256))?;
        let (mut digest, mut bytes, mut index) = (Sha256::new(), 0_u64, 0_u64);
        while bytes < named.bytes {
            let pieces = self.pieces(session, &named, index).await.map_err(failed)?;
            if pieces.is_empty() {
                break;
            }
            for piece in pieces {
                digest.update(&piece);
                bytes += piece.len() as u64;
                index += 1;
            }
        }
        if bytes != named.bytes || ChainLink(digest.finalize().into()).to_string() != sha256 {
            return Err(BlobError::new(
                BlobErrorKind::Corrupt,
                format!("blob {sha256} of session {session} was changed: it must come from a copy"),
            ));
        }
        Ok(StoredOutput { sha256: sha256.into(), bytes })
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let all = self.subject(session, ">");
        let swept = self.server.sweep(&self.stream(), &all, u64::MAX).await;
        swept
            .map_err(|trouble| trouble.in_blobs(&format!("erasing the blobs of session {session}")))
    }
}

struct NatsBlobWriter {
    blobs: NatsBlobs,
    session: SessionId,
    upload: String,
    /// Bytes that do not fill a piece yet.
    held: Vec<u8>,
    /// The bytes of a piece.
    piece: usize,
    /// Number of pieces on the server.
    posted: u64,
    bytes: u64,
    digest: Sha256,
    /// True once a write failed or was dropped.
    broken: bool,
}

impl NatsBlobWriter {
    async fn flush(&mut self, least: usize) -> Result<(), ServerError> {
        while self.held.len() >= least.max(1) {
            let rest = self.held.split_off(self.piece.min(self.held.len()));
            let piece = std::mem::replace(&mut self.held, rest);
            let part = format!("part.{}.{}", self.upload, self.posted);
            let subject = self.blobs.subject(&self.session, &part);
            self.blobs.post(subject, piece, None).await?;
            self.posted += 1;
        }
        Ok(())
    }

    /// Puts the blob under its name, or finds that it is there already.
    async fn name(&self, sha256: &str) -> Result<(), ServerError> {
        let named = BlobManifest {
            upload: self.upload.clone(),
            bytes: self.bytes,
            piece: self.piece as u64,
        };
        let body = serde_json::to_vec(&named);
        let body = body.map_err(|error| ServerError::Unexpected(error.to_string()))?;
        let subject = self.blobs.subject(&self.session, &format!("name.{sha256}"));
        match self.blobs.post(subject, body, Some(0)).await {
            Ok(_) | Err(ServerError::Moved) => {}
            Err(trouble) => return Err(trouble),
        }
        let there = self.blobs.named(&self.session, sha256).await?;
        if there.is_none_or(|there| there.upload != self.upload) {
            self.blobs.sweep_pieces(&self.session, &self.upload).await?;
        }
        self.blobs.close(&self.session, &self.upload).await
    }
}

#[async_trait]
impl BlobWriter for NatsBlobWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let doing = format!("writing a blob of session {}", self.session);
        if self.broken {
            let context = format!("{doing}: an earlier write failed; begin the blob anew");
            return Err(BlobError::new(BlobErrorKind::Io, context));
        }
        let room = self.blobs.capabilities.max_bytes.saturating_sub(self.bytes);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.broken = true;
        for part in taken.chunks(self.piece) {
            self.digest.update(part);
            self.bytes += part.len() as u64;
            self.held.extend_from_slice(part);
            let flushed = self.flush(self.piece).await;
            flushed.map_err(|trouble| trouble.in_blobs(&doing))?;
        }
        self.broken = false;
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        let doing = format!("finishing a blob of session {}", self.session);
        if self.broken {
            let context = format!("{doing}: an earlier write failed; begin the blob anew");
            return Err(BlobError::new(BlobErrorKind::Io, context));
        }
        let failed = |trouble: ServerError| trouble.in_blobs(&doing);
        self.flush(1).await.map_err(failed)?;
        let digest = std::mem::take(&mut self.digest);
        let sha256 = ChainLink(digest.finalize().into()).to_string();
        self.name(&sha256).await.map_err(failed)?;
        Ok(StoredOutput { sha256, bytes: self.bytes })
    }
}

impl Drop for NatsBlobWriter {
    fn drop(&mut self) {
        // What it left is given back when its session keeps something again.
        lock(&self.blobs.writing).remove(&self.upload);
    }
}

fn lock(writing: &Mutex<HashSet<String>>) -> std::sync::MutexGuard<'_, HashSet<String>> {
    writing.lock()
}
