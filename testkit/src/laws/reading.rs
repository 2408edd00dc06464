//! Reading a log without the core: facts by position, turns, and the tools of calls.

use windlass_core::{
    CallId, CallItem, Fact, Item, Recorded, Seq, Settings, ToolSpec, TurnId, TurnOpened,
};

/// The fact at a position.
pub(super) fn at(log: &[Recorded], seq: Seq) -> Option<&Recorded> {
    let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
    log.get(index).filter(|recorded| recorded.seq == seq)
}

/// The opening of a turn.
pub(super) fn opening(log: &[Recorded], turn: TurnId) -> Option<(&Recorded, &TurnOpened)> {
    let recorded = at(log, Seq(turn.0))?;
    match &recorded.fact {
        Fact::TurnOpened(fact) => Some((recorded, fact)),
        Fact::SessionOpened(_)
        | Fact::SettingsChanged(_)
        | Fact::InputQueued(_)
        | Fact::InputAccepted(_)
        | Fact::SampleStarted(_)
        | Fact::ItemAdded(_)
        | Fact::SampleEnded(_)
        | Fact::SampleCut(_)
        | Fact::CallDecided(_)
        | Fact::CallStarted(_)
        | Fact::CallObserved(_)
        | Fact::InterruptRequested(_)
        | Fact::TurnSettled(_) => None,
    }
}

/// The settings that a fact holds.
pub(super) fn settings(log: &[Recorded], seq: Seq) -> Option<&Settings> {
    match &at(log, seq)?.fact {
        Fact::SessionOpened(fact) => Some(&fact.settings),
        Fact::SettingsChanged(fact) => Some(&fact.settings),
        Fact::InputQueued(_)
        | Fact::TurnOpened(_)
        | Fact::InputAccepted(_)
        | Fact::SampleStarted(_)
        | Fact::ItemAdded(_)
        | Fact::SampleEnded(_)
        | Fact::SampleCut(_)
        | Fact::CallDecided(_)
        | Fact::CallStarted(_)
        | Fact::CallObserved(_)
        | Fact::InterruptRequested(_)
        | Fact::TurnSettled(_) => None,
    }
}

/// The item that brought a call.
pub(super) fn call(log: &[Recorded], call: CallId) -> Option<(&Recorded, &CallItem)> {
    let recorded = at(log, Seq(call.0))?;
    match &recorded.fact {
        Fact::ItemAdded(fact) => match &fact.item {
            Item::Call(item) => Some((recorded, item)),
            Item::Text { .. } | Item::Refusal { .. } | Item::Reasoning(_) => None,
        },
        Fact::SessionOpened(_)
        | Fact::SettingsChanged(_)
        | Fact::InputQueued(_)
        | Fact::TurnOpened(_)
        | Fact::InputAccepted(_)
        | Fact::SampleStarted(_)
        | Fact::SampleEnded(_)
        | Fact::SampleCut(_)
        | Fact::CallDecided(_)
        | Fact::CallStarted(_)
        | Fact::CallObserved(_)
        | Fact::InterruptRequested(_)
        | Fact::TurnSettled(_) => None,
    }
}

/// The tool that a call names, with the settings of its turn.
pub(super) fn tool(log: &[Recorded], id: CallId) -> Option<(&TurnOpened, &Settings, &ToolSpec)> {
    let (recorded, item) = call(log, id)?;
    let (_, turn) = opening(log, recorded.turn?)?;
    let settings = settings(log, turn.settings)?;
    Some((turn, settings, settings.tool(&item.name)?))
}
