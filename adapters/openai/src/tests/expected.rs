//! The events that the tests of the decoders expect, in few words.

use windlass_core::StreamEvent;

/// A call is opened.
pub(crate) fn opened(slot: u32, id: &str, name: &str) -> StreamEvent {
    StreamEvent::CallOpened { slot, id: id.into(), name: name.into() }
}

/// More arguments of a call.
pub(crate) fn arguments(slot: u32, text: &str) -> StreamEvent {
    StreamEvent::CallArguments { slot, text: text.into() }
}
