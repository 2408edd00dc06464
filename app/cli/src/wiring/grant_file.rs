//! File of approval grants: what the user allowed beyond one call, and until when.
//!
//! It is in the user's state folder, never in a workspace or a log. It is read at each question, so
//! a revoked grant ends at once. A file that cannot be trusted has no grants.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use windlass_engine::core::{GrantLifetime, SessionId};
use windlass_engine::ports::{Grant, GrantedCalls, GrantsError, GrantsErrorKind, NewGrant};

use super::user_state::state_folder;

/// Name of the file in the state folder.
const NAME: &str = "grants.json";
/// Name of the file that is locked while grants are written.
const LOCK: &str = "grants.lock";
/// Version of the format.
const VERSION: u32 = 1;
/// Most grants of each lifetime and tenant.
const MAX_GRANTS: usize = 500;
/// Longest file, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Grant in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantEntry {
    /// Id, derived from all but the time.
    pub(crate) id: String,
    /// Tenant of a server; none for the user of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    /// Canonical path of the workspace.
    pub(crate) workspace: String,
    /// Session, if it is for one, with the identity of its store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<GrantSession>,
    /// Name of the tool.
    pub(crate) tool: String,
    /// Calls of the tool that it covers.
    pub(crate) calls: GrantedCalls,
    /// Time at which it was given, in milliseconds since 1970.
    pub(crate) at_ms: u64,
}

/// Session of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantSession {
    pub(crate) id: SessionId,
    /// Identity of the store: another store may have a session of the same name.
    pub(crate) store: String,
}

/// Form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantFile {
    version: u32,
    grants: Vec<GrantEntry>,
}

/// Place of a user or tenant: grants are bound to it.
#[derive(Debug, Clone)]
pub(crate) struct GrantPlace {
    pub(crate) tenant: Option<String>,
    /// Canonical path of the workspace.
    pub(crate) workspace: String,
    /// Identity of the store.
    pub(crate) store: String,
}

impl GrantEntry {
    /// Returns true if it was given in this place.
    pub(crate) fn is_of(&self, place: &GrantPlace) -> bool {
        self.tenant == place.tenant && self.workspace == place.workspace
    }

    /// Returns true if it covers calls of a session.
    pub(crate) fn applies(&self, place: &GrantPlace, session: &SessionId) -> bool {
        let own = |of: &GrantSession| of.id == *session && of.store == place.store;
        self.is_of(place) && self.session.as_ref().is_none_or(own)
    }

    /// Returns the grant as the engine knows it.
    pub(crate) fn grant(&self) -> Grant {
        Grant {
            id: self.id.clone(),
            lifetime: self.lifetime(),
            session: self.session.as_ref().map(|of| of.id.clone()),
            tool: self.tool.clone(),
            calls: self.calls.clone(),
            at_ms: self.at_ms,
        }
    }

    pub(crate) fn lifetime(&self) -> GrantLifetime {
        match self.session {
            Some(_) => GrantLifetime::Session,
            None => GrantLifetime::Always,
        }
    }

    fn new(place: &GrantPlace, session: &SessionId, new: NewGrant) -> Self {
        let session = match new.lifetime {
            GrantLifetime::Session => {
                Some(GrantSession { id: session.clone(), store: place.store.clone() })
            }
            GrantLifetime::Always => None,
        };
        let (tenant, workspace) = (place.tenant.clone(), place.workspace.clone());
        let named = serde_json::json!([tenant, workspace, session, new.tool, new.calls]);
        let digest = Sha256::digest(named.to_string());
        let id = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let NewGrant { tool, calls, at_ms, .. } = new;
        Self { id, tenant, workspace, session, tool, calls, at_ms }
    }
}

/// Reads all grants. A missing file has none.
pub(crate) fn load() -> Result<Vec<GrantEntry>, GrantsError> {
    let path = folder()?.join(NAME);
    match read(&path) {
        Ok(grants) => Ok(grants),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed("read", &path, &error)),
    }
}

/// Records a grant. An equal one stays as it is. The oldest of ended sessions give way.
pub(crate) fn give(
    place: &GrantPlace,
    session: &SessionId,
    new: NewGrant,
) -> Result<Grant, GrantsError> {
    let entry = GrantEntry::new(place, session, new);
    update(|grants| {
        if let Some(known) = grants.iter().find(|known| known.id == entry.id) {
            return Ok((false, known.grant()));
        }
        let like = |other: &GrantEntry| {
            other.tenant == entry.tenant && other.lifetime() == entry.lifetime()
        };
        if grants.iter().filter(|other| like(other)).count() >= MAX_GRANTS {
            let oldest = grants.iter().position(like).filter(|_| entry.session.is_some());
            let Some(oldest) = oldest else {
                let words = format!(
                    "{MAX_GRANTS} approval grants are recorded, which is the most: revoke some with \
                     windlass approvals revoke"
                );
                return Err(GrantsError::new(GrantsErrorKind::Full, words));
            };
            grants.remove(oldest);
        }
        grants.push(entry.clone());
        Ok((true, entry.grant()))
    })
}

/// Removes the grants that a condition names. Returns their number.
pub(crate) fn remove(gone: impl Fn(&GrantEntry) -> bool) -> Result<usize, GrantsError> {
    if load()?.iter().all(|entry| !gone(entry)) {
        return Ok(0);
    }
    update(|grants| {
        let before = grants.len();
        grants.retain(|entry| !gone(entry));
        let removed = before.saturating_sub(grants.len());
        Ok((removed > 0, removed))
    })
}

/// Changes the file while no other process does. The closure returns true if it is to be written.
fn update<T>(
    change: impl FnOnce(&mut Vec<GrantEntry>) -> Result<(bool, T), GrantsError>,
) -> Result<T, GrantsError> {
    let folder = folder()?;
    let path = folder.join(NAME);
    let wrap = |error: io::Error| failed("write", &path, &error);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(wrap)?;
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCK));
    let lock = lock.map_err(wrap)?;
    lock.lock().map_err(wrap)?;
    let mut grants = load()?;
    let (changed, result) = change(&mut grants)?;
    if changed {
        write(&folder, &path, grants).map_err(wrap)?;
    }
    Ok(result)
}

fn read(path: &Path) -> io::Result<Vec<GrantEntry>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users may write it"));
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    let read: GrantFile = serde_json::from_slice(&text).map_err(io::Error::other)?;
    match read.version {
        VERSION => Ok(read.grants),
        other => Err(io::Error::other(format!("its version {other} is unknown"))),
    }
}

/// Writes the file as a whole, for its owner alone.
fn write(folder: &Path, path: &Path, grants: Vec<GrantEntry>) -> io::Result<()> {
    let beside = folder.join(format!("{NAME}.{}.new", std::process::id()));
    // A process of this number that died may have left one.
    let _ = fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
    let form = GrantFile { version: VERSION, grants };
    let mut text = serde_json::to_vec_pretty(&form).map_err(io::Error::other)?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

fn folder() -> Result<PathBuf, GrantsError> {
    state_folder().map_err(|failure| GrantsError::new(GrantsErrorKind::Record, failure.message))
}

fn failed(what: &str, path: &Path, error: &dyn std::fmt::Display) -> GrantsError {
    let words = format!(
        "cannot {what} the record of approval grants {}: {error}; no grant is used until you repair \
         it, or remove it",
        path.display()
    );
    GrantsError::new(GrantsErrorKind::Record, words)
}
