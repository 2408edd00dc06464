//! The user's servers: `windlass/mcp.toml` in the configuration folder, which the command changes,
//! and the tables `mcp_servers` of `config.toml`, which it only reads.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use windlass_mcp::{ServerEntry, ServerName, ServerTable, parse_deferred_limit, parse_toml};

use super::ConfiguredServer;
use crate::config;
use crate::exit::{ExitKind, Failure};
use crate::wiring::tools::configured;

/// Name of the file.
pub(crate) const NAME: &str = "mcp.toml";
/// Longest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the path of the file.
///
/// # Errors
/// [`Failure`] when the user has no configuration folder.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    configured(NAME).ok_or_else(|| {
        Failure::usage("cannot find your configuration folder: set HOME or XDG_CONFIG_HOME")
    })
}

/// Reads the servers of both files. A missing file has none.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or when both have a server of the same name.
pub(crate) fn load() -> Result<BTreeMap<ServerName, ConfiguredServer>, Failure> {
    let own = match configured(NAME) {
        Some(path) => parse(&path, &read(&path)?)?,
        None => ServerTable::new(),
    };
    let from = |file: &'static str| {
        move |(name, entry)| (name, ConfiguredServer { entry, from: file.to_owned() })
    };
    let mut servers: BTreeMap<_, _> = own.into_iter().map(from(NAME)).collect();
    for (name, server) in in_config()?.into_iter().map(from(config::NAME)) {
        if servers.contains_key(&name) {
            return Err(Failure::usage(format!(
                "both {NAME} and {} have an MCP server {name}: remove one of the two",
                config::NAME
            )));
        }
        servers.insert(name, server);
    }
    Ok(servers)
}

/// Reads the servers of `config.toml`.
fn in_config() -> Result<ServerTable, Failure> {
    match config::text()? {
        Some((path, text)) => parse(&path, &text),
        None => Ok(ServerTable::new()),
    }
}

/// Reads from the file how many tokens of tools are offered at once.
pub(super) fn deferral() -> Result<u64, Failure> {
    let Some(path) = configured(NAME) else {
        return Ok(0);
    };
    parse_deferred_limit(&read(&path)?)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

/// Adds a server to the file.
///
/// # Errors
/// [`Failure`] when it has one of that name, or the file cannot be read or written.
pub(crate) fn add(name: &ServerName, entry: &ServerEntry) -> Result<PathBuf, Failure> {
    let path = path()?;
    let text = read(&path)?;
    if parse(&path, &text)?.contains_key(name) {
        return Err(Failure::usage(format!(
            "{} has a server {name}: remove it first with windlass mcp remove {name}",
            path.display()
        )));
    }
    not_in_config(name)?;
    let gap = if text.is_empty() || text.ends_with("\n\n") { "" } else { "\n" };
    let text = format!("{text}{gap}{}", table(name, entry)?);
    parse(&path, &text)?;
    write(&path, &text)?;
    Ok(path)
}

/// Removes a server from the file. Returns false if there is none of that name.
///
/// # Errors
/// [`Failure`] when the file cannot be read or written, or has the server in another form than its own
/// tables.
pub(crate) fn remove(name: &ServerName) -> Result<bool, Failure> {
    let path = path()?;
    let text = read(&path)?;
    if !parse(&path, &text)?.contains_key(name) {
        return not_in_config(name).map(|()| false);
    }
    let left = without(&text, name);
    match parse(&path, &left) {
        Ok(servers) if !servers.contains_key(name) => write(&path, &left).map(|()| true),
        Ok(_) | Err(_) => Err(Failure::usage(format!(
            "{} has the server {name} in a form that is not changed here: remove it there",
            path.display()
        ))),
    }
}

/// Rejects a change to a server of `config.toml`.
fn not_in_config(name: &ServerName) -> Result<(), Failure> {
    if !in_config()?.contains_key(name) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the server {name} is in {}, which is not changed here: change it there",
        config::NAME
    )))
}

/// Returns a text without the tables of a server. All other lines stay as they are.
fn without(text: &str, name: &ServerName) -> String {
    let own = [format!("mcp_servers.{name}"), format!("mcp_servers.\"{name}\"")];
    let mut inside = false;
    let mut left = String::new();
    for line in text.split_inclusive('\n') {
        let header = line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((header, _)) = header {
            let header = header.trim();
            inside = own.iter().any(|own| {
                header
                    .strip_prefix(own.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
        }
        if !inside {
            left.push_str(line);
        }
    }
    left
}

/// Returns the tables of a server.
fn table(name: &ServerName, entry: &ServerEntry) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct OneServer<'a> {
        mcp_servers: BTreeMap<&'a str, &'a ServerEntry>,
    }
    let one = OneServer { mcp_servers: [(name.as_str(), entry)].into() };
    toml::to_string(&one).map_err(|error| {
        Failure::new(ExitKind::Failed, format!("cannot write the server: {error}"))
    })
}

fn parse(path: &Path, text: &str) -> Result<ServerTable, Failure> {
    parse_toml(text)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))
}

fn read(path: &Path) -> Result<String, Failure> {
    let read = || -> io::Result<String> {
        if fs::metadata(path)?.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
        }
        fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::usage(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Writes the file as a whole, for its owner alone: it may have keys in it.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || -> io::Result<()> {
        // A link of the user's stays one.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let beside = folder.join(format!("{NAME}.{}.new", std::process::id()));
        // A process of this number that died may have left one.
        let _ = fs::remove_file(&beside);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, &path)
    };
    written().map_err(|error| {
        Failure::new(ExitKind::Failed, format!("cannot write {}: {error}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_written_and_removed_and_all_else_stays() {
        let name = |name: &str| ServerName::new(name).unwrap();
        let entry = ServerEntry {
            command: Some("npx".into()),
            args: vec!["a \"b\"".into()],
            env: [("KEY".to_owned(), "${KEY}".to_owned())].into(),
            ..ServerEntry::default()
        };
        let before = "# mine\n[mcp_servers.git-x]\ncommand = 'a' # [mcp_servers.git]\n";
        let text = format!("{before}\n{}\n[other]\nx = 1\n", table(&name("git"), &entry).unwrap());
        let read = parse_toml(&text).unwrap();
        assert_eq!(read[&name("git")], entry);
        let left = without(&text, &name("git"));
        assert_eq!(left, format!("{before}\n[other]\nx = 1\n"));
        assert_eq!(without(&text, &name("gi")), text);
    }
}
