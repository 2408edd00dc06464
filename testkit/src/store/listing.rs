//! Cases of listing: all sessions, in the order of their ids, by pages.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::SessionId;
use windlass_ports::{LogStore, SessionFilter};

use super::StoreFixture;
use super::violation::{Checked, Violation, done, ensure, run};
use super::writer::{Writer, session};

/// Ids whose order is easily got wrong: by letter case, by a suffix that a store adds, by length.
const NAMES: [&str; 12] =
    ["a-b", "b", "a", "a.b", "B", "a.log", "a_b", "0", "aa", "a0", "A.", "z-.Z_9"];

/// Sessions are listed in the order of their ids, each once.
pub fn sessions_are_listed_in_order(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let none = done(
            store.sessions(SessionFilter::ALL_TENANTS, None, 10).await,
            "listing an empty store",
        )?;
        ensure!(none.is_empty(), "an empty store lists {none:?}");
        let ids = fill(&store).await?;
        for limit in [ids.len(), ids.len() + 1, usize::MAX] {
            check_page(&*store, None, limit, &ids).await?;
        }
        Ok(())
    })
}

/// A page of sessions begins after its cursor, whether that exists or not, and is no longer than
/// asked for.
pub fn sessions_are_paged(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let ids = fill(&store).await?;
        let mut cursors = vec![None];
        cursors.extend(ids.iter().cloned().map(Some));
        for name in ["00", "a-", "a.a", "zzz"] {
            cursors.push(Some(session(name)?));
        }
        for cursor in &cursors {
            for limit in [0, 1, 5, usize::MAX] {
                check_page(&*store, cursor.as_ref(), limit, &ids).await?;
            }
        }
        Ok(())
    })
}

async fn fill(store: &Arc<dyn LogStore>) -> Result<Vec<SessionId>, Violation> {
    let mut ids = Vec::new();
    for name in NAMES.into_iter().chain(["x".repeat(64).as_str()]) {
        let mut writer = Writer::new(store, name).await?;
        writer.append(writer.next(1)).await?;
        writer.append(writer.next(1)).await?;
        ids.push(writer.id);
    }
    ids.sort();
    Ok(ids)
}

async fn check_page(
    store: &dyn LogStore,
    after: Option<&SessionId>,
    limit: usize,
    ids: &[SessionId],
) -> Checked {
    let what = format!("listing {limit} sessions after {after:?}");
    let heads = done(store.sessions(SessionFilter::ALL_TENANTS, after, limit).await, &what)?;
    let listed: Vec<_> = heads.into_iter().map(|head| head.id).collect();
    let rest = ids.iter().filter(|id| after.is_none_or(|after| *id > after));
    let expected: Vec<_> = rest.take(limit).cloned().collect();
    ensure!(listed == expected, "{what} gave {listed:?} and not {expected:?}");
    Ok(())
}
