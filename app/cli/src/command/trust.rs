//! `windlass trust`: trusts the instructions, skills and servers of a folder, and lists or removes trust.

use std::path::{Path, PathBuf};

use super::closed;
use crate::args::TrustArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{TrustRecord, trustable_files};

pub(super) fn trust(args: &TrustArgs) -> Result<ExitKind, Failure> {
    let mut record = TrustRecord::load()?;
    if args.list {
        list(&record)?;
        return Ok(ExitKind::Completed);
    }
    let folder = folder(args.folder.as_deref().unwrap_or(Path::new(".")), args.remove)?;
    let files = trustable_files(&folder);
    if args.remove {
        let removed = record.remove(&folder, &files);
        record.save()?;
        for path in &removed {
            print_notice(&format!("not trusted any more: {}", path.display()));
        }
        if removed.is_empty() {
            print_notice(&format!("nothing in {} was trusted", folder.display()));
        }
        return Ok(ExitKind::Completed);
    }
    if files.is_empty() {
        print_notice(&format!(
            "{} has no AGENTS.md, no skill and no .mcp.json: there is nothing to trust",
            folder.display()
        ));
        return Ok(ExitKind::Completed);
    }
    for file in &files {
        record.decide(file, true);
    }
    record.save()?;
    for file in &files {
        print_notice(&format!(
            "trusted: {} ({} bytes), until it changes",
            file.path.display(),
            file.text.len()
        ));
    }
    Ok(ExitKind::Completed)
}

fn list(record: &TrustRecord) -> Result<(), Failure> {
    let mut entries = record.entries().peekable();
    if entries.peek().is_none() {
        print_notice("nothing is trusted");
    }
    for (path, digest, trusted) in entries {
        let word = if trusted { "trusted" } else { "refused" };
        let line = format!("{word}  {digest}  {}", path.display());
        print_line(&visible(&line)).map_err(closed)?;
    }
    Ok(())
}

/// Returns the canonical path of a folder. One that is gone can still be removed from the record.
fn folder(named: &Path, may_be_gone: bool) -> Result<PathBuf, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot open {}: {why}", named.display()))
    };
    match named.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(refused(&"it is not a folder")),
        Err(_) if may_be_gone => std::path::absolute(named).map_err(|error| refused(&error)),
        Err(error) => Err(refused(&error)),
    }
}
