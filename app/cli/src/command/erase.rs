//! `windlass erase`: erases a session's log, blobs and checkpoint, and on request those of its
//! agents.

use std::path::PathBuf;

use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::{StoreError, StoreErrorKind};
use windlass_engine::{ChildSession, child_sessions};
use windlass_file::{FileStore, UnfinishedMaintenance};

use super::session_checks::NAMED;
use crate::args::EraseArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_notice, visible};
use crate::wiring::{Adapters, GrantEntry, StoreHandle, Workspace, grant_file, grant_place};

pub(super) async fn erase(args: EraseArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let opened = site.open_to_read().await?;
    let id = &args.session.resolve(&site, &*opened.store).await?;
    if !opened.store.capabilities().erase {
        let words = format!(
            "{} cannot erase sessions: copy those to keep to another store, and remove this one",
            site.store
        );
        return Err(Failure::new(ExitKind::Store, words));
    }
    // A claim would create a missing session. A damaged session exists, and one whose erasing was
    // interrupted is claimed to finish that.
    match opened.store.read(id, Seq::ZERO, 1).await {
        Err(error) if !is_damage(&error) && !is_being_erased(&site, id).await? => {
            return Err(error.into());
        }
        Ok(_) | Err(_) => {}
    }
    if !args.yes {
        let words = format!(
            "session {id} in {} would be erased permanently, with its log and its outputs: \
             confirm with --yes",
            site.store
        );
        return Err(Failure::usage(words));
    }
    let agents = child_sessions(opened.store.as_ref(), id).await;
    for (log, error) in agents.unreadable {
        // A damaged log is erased too.
        print_notice(&format!("  cannot list all agents of session {log}: {error}"));
    }
    if args.with_agents {
        // Children first, so that the remaining ones are still named by a log.
        for ChildSession { session, agent, .. } in &agents.sessions {
            one(&site, &opened, session).await?;
            print_notice(&visible(&format!("  session {session} of its agent {agent} is erased")));
        }
    }
    one(&site, &opened, id).await?;
    print_notice(&format!("session {id} is erased"));
    let left = match args.with_agents {
        true => &[],
        false => agents.sessions.as_slice(),
    };
    for ChildSession { session, .. } in left.iter().take(NAMED) {
        print_notice(&format!(
            "  session {session} of one of its agents still exists: erase it too"
        ));
    }
    if left.len() > NAMED {
        print_notice(&format!("  and {} more", left.len() - NAMED));
    }
    Ok(ExitKind::Completed)
}

/// Erases a single session.
async fn one(site: &Workspace, opened: &StoreHandle, id: &SessionId) -> Result<(), Failure> {
    let claim = match (opened.store.claim(id).await, site.store.file_folder()) {
        (Ok(claim), _) => claim,
        (Err(error), Some(folder)) if is_damage(&error) => {
            damaged(folder.to_owned(), id.clone()).await?;
            site.destroy_unused_keys().await?;
            return Ok(());
        }
        (Err(error), _) => return Err(error.into()),
    };
    // Blobs first: after the log, nothing would name them.
    let erased = match opened.blobs.erase(id).await {
        Ok(()) => opened.store.erase(id, claim.epoch).await.map_err(Failure::from),
        Err(error) => Err(Failure::new(ExitKind::Store, error.to_string())),
    };
    if let Err(mut failure) = erased {
        opened.store.release(id, claim.epoch).await?;
        let more = format!(". Session {id} is not erased: erase it again");
        failure.message.push_str(&more);
        return Err(failure);
    }
    forget_approvals(site, id);
    Ok(())
}

/// Revokes what was allowed for the session: a new one may have its name.
fn forget_approvals(site: &Workspace, id: &SessionId) {
    let store = grant_place(site).store;
    let own = |entry: &GrantEntry| {
        entry.session.as_ref().is_some_and(|of| of.id == *id && of.store == store)
    };
    if let Err(error) = grant_file::remove(own) {
        print_error(&format!("approvals for session {id} are not revoked: {error}"));
    }
}

/// Returns true if an earlier process began to erase the session.
async fn is_being_erased(site: &Workspace, id: &SessionId) -> Result<bool, Failure> {
    let unfinished = site.unfinished_maintenance().await?;
    Ok(unfinished.contains(&UnfinishedMaintenance::Erasure(id.clone())))
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error.kind, StoreErrorKind::Corrupt { .. })
}

/// Erases a session that cannot be claimed, since its log is damaged.
async fn damaged(folder: PathBuf, id: SessionId) -> Result<(), Failure> {
    let session = id.clone();
    let erased =
        tokio::task::spawn_blocking(move || FileStore::erase_offline(&folder, &session)).await;
    erased
        .map_err(|error| Failure::new(ExitKind::Store, format!("cannot erase {id}: {error}")))??;
    print_notice(&format!(
        "  session {id} was damaged: `windlass verify` reports remaining damage that belongs to \
         no known session"
    ));
    Ok(())
}
