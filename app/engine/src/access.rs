//! Access of a stream's scope to its session, checked once.

use windlass_core::{Fact, Scope, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::error::StartError;
use crate::event::Event;
use crate::slot::Slot;

/// Check that a scope may see a session.
#[derive(Debug)]
pub(crate) enum AccessCheck {
    /// The scope may see it.
    Passed,
    /// The session's owner is not known yet.
    Pending(Scope),
}

impl AccessCheck {
    pub(crate) fn of(scope: &Scope) -> Self {
        match scope {
            Scope::System { .. } => Self::Passed,
            Scope::Principal { .. } => Self::Pending(scope.clone()),
        }
    }

    /// Checks the owner of the session of a slot. Stays pending if the first fact is not durable
    /// and a driver here is about to append it.
    ///
    /// # Errors
    /// `Unknown` when there is no such session for the scope; those of reading its first fact.
    pub(crate) async fn check(&mut self, slot: &Slot) -> Result<(), StoreError> {
        let Self::Pending(scope) = self else {
            return Ok(());
        };
        let Some(engine) = slot.engine() else {
            return Err(unknown(&slot.id));
        };
        match engine.lookup_any(&slot.id).await {
            Ok(info) if scope.can_access(&info.owner) => *self = Self::Passed,
            Ok(_) => return Err(unknown(&slot.id)),
            Err(StartError::Unknown(_)) if slot.link().is_some() => {}
            Err(StartError::Store(error)) => return Err(error),
            Err(_) => return Err(unknown(&slot.id)),
        }
        Ok(())
    }

    /// Checks the owner of a session that a driver here has just opened: its first event is its
    /// first fact.
    ///
    /// # Errors
    /// `Unknown` when the event is of a session that the scope may not see.
    pub(crate) fn apply(&mut self, session: &SessionId, event: &Event) -> Result<(), StoreError> {
        let Self::Pending(scope) = self else {
            return Ok(());
        };
        match event {
            Event::Fact(fact)
                if let Fact::SessionOpened(opened) = &fact.fact
                    && scope.can_access(&opened.owner) =>
            {
                *self = Self::Passed;
                Ok(())
            }
            Event::Fact(_) | Event::Live(_) => Err(unknown(session)),
            Event::Lagged { .. } | Event::Store(_) | Event::Ended(_) => Ok(()),
        }
    }
}

fn unknown(session: &SessionId) -> StoreError {
    let context = format!("subscribing to session {session}: there is no such session");
    StoreError::new(StoreErrorKind::Unknown, context)
}
