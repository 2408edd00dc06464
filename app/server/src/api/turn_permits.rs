//! Turn permits: a requested turn uses room of its tenant until it has ended.

use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{Seq, TimelineEntry, TurnEntry};
use windlass_engine::{AwaitedTurn, Event, SessionHandle};

use crate::access::UsagePermit;

/// Holds a permit and the handle until the turn of an input or a compaction has ended on any node,
/// or until that is held.
pub(crate) fn hold_until_settled(handle: SessionHandle, awaited: AwaitedTurn, pass: UsagePermit) {
    tokio::spawn(async move {
        settled(&handle, awaited).await;
        drop(pass);
    });
}

/// Time without events of a turn after which the existence of a driver is checked.
const CHECK_AFTER: Duration = Duration::from_secs(600);

/// Waits for that. A turn that cannot be followed, or that has no driver, counts as ended.
async fn settled(handle: &SessionHandle, awaited: AwaitedTurn) {
    let from = match awaited {
        AwaitedTurn::Input(input) => Some(Seq(input.0.saturating_sub(1))),
        AwaitedTurn::Compaction(request) => Some(Seq(request.0.saturating_sub(1))),
        AwaitedTurn::Turn(turn) => Some(Seq(turn.0.saturating_sub(1))),
        AwaitedTurn::Goal => None,
    };
    let mut turn = handle.follow(handle.subscribe(from), awaited);
    loop {
        let Ok(next) = timeout(CHECK_AFTER, turn.next()).await else {
            match handle.is_driven_here() {
                true => continue,
                false => return,
            }
        };
        let Ok((event, report)) = next else { return };
        let settles = match &event {
            Event::Fact(fact) => {
                matches!(TimelineEntry::of(fact), TimelineEntry::Turn(TurnEntry::Settled(_)))
            }
            Event::Live(_) | Event::Lagged { .. } | Event::Store(_) | Event::Ended(_) => false,
        };
        if report.is_some() || (settles && is_idle(handle).await) {
            return;
        }
    }
}

/// Returns true if no turn is open, so that the awaited one is held.
async fn is_idle(handle: &SessionHandle) -> bool {
    let state = handle.state().await;
    state.map_or(true, |state| state.turn().is_none())
}
