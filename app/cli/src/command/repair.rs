//! `windlass repair`: cuts a log off at a position, with what is cut off saved first.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use windlass::core::{Seq, SessionId};
use windlass::ports::LogStore;
use windlass_file::FileStore;

use super::log;
use crate::args::Repair;
use crate::exit::{Exit, Failure};
use crate::present::{complain, tell};
use crate::wiring::{Site, StoreUrl};

/// How many facts are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn repair(args: Repair) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let StoreUrl::File(folder) = &site.store else {
        let words = format!(
            "{} cannot be repaired: only a store of the kind file can. Copy its sessions to another \
             store",
            site.store
        );
        return Err(Failure::usage(words));
    };
    let (id, at) = (&args.session, Seq(args.truncate_at));
    let opened = site.open_to_read().await?;
    // Whatever cannot be cut off is told before anything is saved.
    opened.store.read(id, Seq::ZERO, 1).await?;
    let path = args
        .save
        .unwrap_or_else(|| PathBuf::from(format!("{id}-after-{at}.jsonl")));
    let file = create(&path)?;
    let saved = match save(opened.store.as_ref(), id, at, file).await {
        Ok(saved) => saved,
        Err(why) => {
            remove(&path);
            return Err(unsaved(&path, &why));
        }
    };
    drop(opened);
    let (folder, session) = (folder.clone(), id.clone());
    let cut = tokio::task::spawn_blocking(move || FileStore::truncate(&folder, &session, at)).await;
    let cut = cut.map_err(|error| Failure::new(Exit::Store, format!("cutting it off: {error}")))?;
    let cut = match cut {
        Ok(cut) => cut,
        Err(error) => {
            remove(&path);
            return Err(error.into());
        }
    };
    let shown = path.display();
    let unread = match &saved.damage {
        Some(damage) => format!(". What stood behind them could not be read: {damage}"),
        None => String::new(),
    };
    tell(&format!(
        "session {id} ends at {} now: {} bytes were cut off, and the {} facts that could be read of \
         them are in {shown}{unread}",
        cut.kept, cut.cut_bytes, saved.facts
    ));
    Ok(Exit::Completed)
}

/// What was saved.
struct Saved {
    facts: u64,
    /// Why there is no more.
    damage: Option<String>,
}

fn create(path: &Path) -> Result<File, Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    created.map_err(|error| unsaved(path, &error.to_string()))
}

fn unsaved(path: &Path, why: &str) -> Failure {
    Failure::usage(format!(
        "what is to be cut off cannot be saved in {}: {why}. Nothing was cut off; name another file \
         with --save",
        path.display()
    ))
}

/// Removes the file of what was not cut off after all.
fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        complain(&format!(
            "{} is of no use, and stays: {error}",
            path.display()
        ));
    }
}

/// Writes the facts behind a position, as far as they can be read. Durable when it answers.
async fn save(store: &dyn LogStore, id: &SessionId, at: Seq, file: File) -> Result<Saved, String> {
    let mut file = BufWriter::new(file);
    let mut saved = Saved {
        facts: 0,
        damage: None,
    };
    let mut after = at;
    loop {
        // One by one where a page holds damage: what stands before it is saved too.
        let page = match store.read(id, after, PAGE).await {
            Ok(page) => page,
            Err(_) => match store.read(id, after, 1).await {
                Ok(page) => page,
                Err(error) => {
                    saved.damage = Some(error.to_string());
                    break;
                }
            },
        };
        let Some(last) = page.last() else { break };
        after = last.seq;
        for fact in &page {
            let text = log::text(fact).map_err(|failure| failure.message)?;
            writeln!(file, "{text}").map_err(|error| error.to_string())?;
            saved.facts = saved.facts.saturating_add(1);
        }
    }
    let file = file.into_inner().map_err(|error| error.to_string())?;
    file.sync_all().map_err(|error| error.to_string())?;
    Ok(saved)
}
