//! Flight: turns that were asked for take up room of their tenant until they have ended.

use std::sync::Arc;

use windlass::core::{Fact, InputId, Recorded, Seq};
use windlass::{Conversation, Event};

use crate::access::Pass;

/// Holds a pass until the turn that hears an input has ended, or until the input waits for a person.
pub(crate) fn watch(conversation: Conversation, input: InputId, pass: Pass) {
    tokio::spawn(async move {
        landed(&conversation, input).await;
        drop(pass);
    });
}

/// Waits for that. What cannot be followed is over.
async fn landed(conversation: &Conversation, input: InputId) {
    let mut events = conversation.subscribe(Some(Seq(input.0.saturating_sub(1))));
    let mut heard = false;
    loop {
        match events.next().await {
            Ok(Event::Fact(fact)) => {
                heard |= hears(&fact, input);
                let settled = matches!(fact.fact, Fact::TurnSettled(_));
                if settled && (heard || is_idle(conversation).await) {
                    return;
                }
            }
            Ok(Event::Live(_) | Event::Lagged { .. }) => {}
            Ok(Event::Ended(_)) | Err(_) => return,
        }
    }
}

fn hears(fact: &Arc<Recorded>, input: InputId) -> bool {
    match &fact.fact {
        Fact::InputAccepted(accepted) => accepted.input == input,
        Fact::InputBlocked(blocked) => blocked.input == input,
        Fact::SessionOpened(_)
        | Fact::SessionResumed(_)
        | Fact::SettingsChanged(_)
        | Fact::GoalSet(_)
        | Fact::GoalEnded(_)
        | Fact::InputQueued(_)
        | Fact::TurnOpened(_)
        | Fact::HooksAsked(_)
        | Fact::HookDecided(_)
        | Fact::ContextInjected(_)
        | Fact::CompactionStarted(_)
        | Fact::Compacted(_)
        | Fact::CompactionFailed(_)
        | Fact::SampleStarted(_)
        | Fact::ItemAdded(_)
        | Fact::SampleEnded(_)
        | Fact::SampleCut(_)
        | Fact::CallDecided(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalAnswered(_)
        | Fact::CallStarted(_)
        | Fact::ReconcileStarted(_)
        | Fact::CallObserved(_)
        | Fact::InterruptRequested(_)
        | Fact::TurnSettled(_) => false,
    }
}

/// Whether no turn is open: then the input waits for a person's word.
async fn is_idle(conversation: &Conversation) -> bool {
    let state = conversation.state().await;
    state.map_or(true, |state| state.turn().is_none())
}
