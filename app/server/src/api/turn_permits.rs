//! Flight: turns that were asked for take up room of their tenant until they have ended.

use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{InputId, Seq, TimelineEntry, TurnEntry};
use windlass_engine::{Event, SessionHandle};

use crate::access::UsagePermit;

/// Holds a pass until the turn that accepts an input has ended, or until the input waits for a person, on
/// any node. The handle is held as long.
pub(crate) fn hold_until_settled(handle: SessionHandle, input: InputId, pass: UsagePermit) {
    tokio::spawn(async move {
        settled(&handle, input).await;
        drop(pass);
    });
}

/// Silence of a turn after which it is checked that a driver runs here.
const CHECK_AFTER: Duration = Duration::from_secs(600);

/// Waits for that. A turn that cannot be followed, or that no driver goes on with, counts as ended.
async fn settled(handle: &SessionHandle, input: InputId) {
    let events = handle.subscribe(Some(Seq(input.0.saturating_sub(1))));
    let mut turn = handle.follow(events, input);
    loop {
        let Ok(next) = timeout(CHECK_AFTER, turn.next()).await else {
            match handle.is_driven_here() {
                true => continue,
                false => return,
            }
        };
        let Ok((event, report)) = next else { return };
        let settles = match &event {
            Event::Fact(fact) => matches!(
                TimelineEntry::of(fact),
                TimelineEntry::Turn(TurnEntry::Settled(_))
            ),
            Event::Live(_) | Event::Lagged { .. } | Event::Ended(_) => false,
        };
        if report.is_some() || (settles && is_idle(handle).await) {
            return;
        }
    }
}

/// Returns true if no turn is open: then the input waits for a person.
async fn is_idle(handle: &SessionHandle) -> bool {
    let state = handle.state().await;
    state.map_or(true, |state| state.turn().is_none())
}
