//! Record about servers in the user's state folder: the era of each, and the digests of its tools as
//! they were when they were first offered or last approved.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_ports::sync::Mutex;

use crate::era::Era;
use crate::state_file;

/// Name of the file in its folder.
const NAME: &str = "servers.json";
/// Name of the file that is locked while the record changes.
const LOCK: &str = "servers.lock";
/// Version of the format.
const VERSION: u32 = 1;
/// Longest file, in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Most servers in the record; the one with the first name gives way.
const MAX_SERVERS: usize = 256;

/// Record about servers. A folder keeps it for later processes.
#[derive(Debug, Default)]
pub struct McpRecord {
    folder: Option<PathBuf>,
    /// The record of a process without a folder.
    own: Mutex<Servers>,
}

type Servers = BTreeMap<String, Entry>;

/// What is known of one server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    era: Option<Era>,
    /// Digests of its tools, by its own names.
    #[serde(default)]
    tools: BTreeMap<String, String>,
}

/// Form of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    version: u32,
    servers: Servers,
}

impl McpRecord {
    /// Uses a folder, which is made when something is recorded.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder: Some(folder), own: Mutex::default() }
    }

    /// Creates a record that ends with its owner.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Returns the era of a server, if it is known. A record that cannot be read knows none.
    pub(crate) fn era(&self, server: &str) -> Option<Era> {
        match self.load() {
            Ok(servers) => servers.get(server)?.era,
            Err(error) => {
                tracing::debug!(%error, "the record of MCP servers cannot be read");
                None
            }
        }
    }

    /// Records the era of a server, or that it is unknown. A failure costs a later process some time.
    pub(crate) fn set_era(&self, server: &str, era: Option<Era>) {
        let set = |servers: &mut Servers| entry(servers, server).era = era;
        if let Err(error) = self.change(set) {
            tracing::debug!(%error, "the era of an MCP server cannot be recorded");
        }
    }

    /// Compares tools, digests by name, with those that are recorded. Returns the names of those that
    /// changed, and records the new ones.
    ///
    /// # Errors
    /// When the record cannot be read or written.
    pub(crate) fn compare(
        &self,
        server: &str,
        tools: &BTreeMap<String, String>,
    ) -> io::Result<BTreeSet<String>> {
        self.change(|servers| {
            let known = &mut entry(servers, server).tools;
            let mut changed = BTreeSet::new();
            for (name, digest) in tools {
                match known.get(name) {
                    Some(before) if before != digest => drop(changed.insert(name.clone())),
                    Some(_) => {}
                    None => drop(known.insert(name.clone(), digest.clone())),
                }
            }
            changed
        })
    }

    /// Records a tool as it is now.
    ///
    /// # Errors
    /// When the record cannot be read or written.
    pub(crate) fn approve(&self, server: &str, tool: &str, digest: &str) -> io::Result<()> {
        self.change(|servers| {
            entry(servers, server).tools.insert(tool.to_owned(), digest.to_owned());
        })
    }

    fn load(&self) -> io::Result<Servers> {
        match &self.folder {
            None => Ok(self.own.lock().clone()),
            Some(folder) => read(&folder.join(NAME)),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Servers) -> T) -> io::Result<T> {
        let Some(folder) = &self.folder else {
            return Ok(change(&mut self.own.lock()));
        };
        let lock = state_file::open_lock(&folder.join(LOCK))?;
        // Released when the file is closed.
        lock.lock()?;
        let path = folder.join(NAME);
        let mut servers = read(&path)?;
        let before = serde_json::to_vec(&servers).map_err(io::Error::other)?;
        let changed = change(&mut servers);
        if serde_json::to_vec(&servers).map_err(io::Error::other)? != before {
            let text = serde_json::to_vec(&RecordFile { version: VERSION, servers });
            state_file::replace(&path, &text.map_err(io::Error::other)?)?;
        }
        Ok(changed)
    }
}

fn entry<'a>(servers: &'a mut Servers, server: &str) -> &'a mut Entry {
    if servers.len() >= MAX_SERVERS && !servers.contains_key(server) {
        servers.pop_first();
    }
    servers.entry(server.to_owned()).or_default()
}

fn read(path: &Path) -> io::Result<Servers> {
    let Some(text) = state_file::read(path, MAX_BYTES)? else {
        return Ok(Servers::new());
    };
    let read: RecordFile = serde_json::from_slice(&text)?;
    match read.version {
        VERSION => Ok(read.servers),
        other => Err(io::Error::other(format!("its version {other} is unknown"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tools(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, digest)| ((*name).into(), (*digest).into())).collect()
    }

    #[test]
    fn a_changed_tool_is_told_until_it_is_approved() {
        let dir = tempfile::tempdir().unwrap();
        let record = || McpRecord::at(dir.path().join("mcp"));
        let first = tools(&[("a", "1"), ("b", "1")]);
        assert!(record().compare("s", &first).unwrap().is_empty());
        let second = tools(&[("a", "2"), ("b", "1"), ("c", "1")]);
        for _ in 0..2 {
            let changed = record().compare("s", &second).unwrap();
            assert_eq!(changed, BTreeSet::from(["a".into()]));
        }
        assert!(record().compare("other", &second).unwrap().is_empty());
        record().approve("s", "a", "2").unwrap();
        assert!(record().compare("s", &second).unwrap().is_empty());
    }

    #[test]
    fn the_era_is_known_to_later_processes() {
        let dir = tempfile::tempdir().unwrap();
        let record = || McpRecord::at(dir.path().to_owned());
        assert_eq!(record().era("s"), None);
        record().set_era("s", Some(Era::Initialize));
        assert_eq!(record().era("s"), Some(Era::Initialize));
        record().set_era("s", None);
        assert_eq!(record().era("s"), None);
    }

    #[test]
    fn a_damaged_record_is_an_error_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        for text in ["{", r#"{"version":2,"servers":{}}"#, r#"{"version":1,"servers":{},"x":1}"#] {
            fs::write(&path, text).unwrap();
            let record = McpRecord::at(dir.path().to_owned());
            assert!(record.compare("s", &tools(&[("a", "1")])).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(record.era("s"), None);
        }
    }

    #[test]
    fn the_record_is_bounded() {
        let record = McpRecord::in_memory();
        for number in 0..MAX_SERVERS + 3 {
            record.set_era(&format!("{number:06}"), Some(Era::Discover));
        }
        assert_eq!(record.load().unwrap().len(), MAX_SERVERS);
        assert_eq!(record.era("000000"), None);
    }
}
