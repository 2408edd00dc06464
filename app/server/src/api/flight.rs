//! Flight: turns that were asked for take up room of their tenant until they have ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{Fact, InputId, Seq};
use windlass_engine::{Event, Reached};

use crate::access::Pass;
use crate::tenant::Tenant;

/// Holds a pass until the turn that hears an input has ended, or until the input waits for a person,
/// whoever drives the session. What was reached for is held as long.
pub(crate) fn watch(tenant: Arc<Tenant>, reached: Reached, input: InputId, pass: Pass) {
    tokio::spawn(async move {
        landed(&tenant, &reached, input).await;
        drop(pass);
    });
}

/// How long a turn may be silent that is not driven here before it is looked at whether anybody does.
const SILENT: Duration = Duration::from_secs(600);

/// Waits for that. What cannot be followed is over, and so is what nobody goes on with.
async fn landed(tenant: &Tenant, reached: &Reached, input: InputId) {
    let after = Some(Seq(input.0.saturating_sub(1)));
    let mut events = tenant.engine.watch(reached.id(), after);
    let mut heard = false;
    loop {
        let Ok(event) = timeout(SILENT, events.next()).await else {
            match reached.is_here() {
                true => continue,
                false => return,
            }
        };
        match event {
            Ok(Event::Fact(fact)) => {
                heard |= fact.fact.heard() == Some(input);
                let settled = matches!(fact.fact, Fact::TurnSettled(_));
                if settled && (heard || is_idle(reached).await) {
                    return;
                }
            }
            Ok(Event::Live(_) | Event::Lagged { .. }) => {}
            Ok(Event::Ended(_)) | Err(_) => return,
        }
    }
}

/// Whether no turn is open: then the input waits for a person's word.
async fn is_idle(reached: &Reached) -> bool {
    let state = reached.state().await;
    state.map_or(true, |state| state.turn().is_none())
}
