//! Law 6: how a stream was chunked does not matter.
//!
//! An answer cut into other pieces assembles to the same items and the same end; the deltas say
//! the same text. An answer that is too large is so in any pieces (which cap it meets first may
//! differ). Nothing is an answer before `Finished`.
//!
//! It kills: an assembler that makes an item of a piece, or that drops what spans two.

use std::collections::BTreeMap;

use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, AssemblerOverflow, Delta, StreamEvent,
};

use super::{Held, hold};

/// What an answer assembles to, when how it was chunked is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Items and the end, in order.
    pub parts: Vec<AssemblerOutput>,
    /// The text of the deltas of each part.
    pub shown: BTreeMap<u32, String>,
    /// Text that belongs to no whole item.
    pub partial: String,
    /// Why it was given up, if it was.
    pub overflow: Option<AssemblerOverflow>,
}

/// Assembles an answer within caps.
pub type Assemble = fn(AssemblerLimits, &[StreamEvent]) -> Answer;

/// Checks two chunkings of one answer.
///
/// # Errors
/// [`Broken`](super::Broken) when they assemble to something else, or end without `Finished`.
pub fn check(
    assemble: Assemble,
    caps: AssemblerLimits,
    one: &[StreamEvent],
    other: &[StreamEvent],
) -> Held {
    let (first, second) = (assemble(caps, one), assemble(caps, other));
    hold(6, first == second || first.overflow.is_some(), || {
        format!("{one:?}\ngives {first:?}\nand {other:?}\ngives {second:?}")
    })?;
    let (large, as_large) = (first.overflow.is_some(), second.overflow.is_some());
    hold(6, large == as_large, || {
        format!("{one:?}\ngives {:?}\nand {other:?}\ngives {:?}", first.overflow, second.overflow)
    })?;
    let finished = one.iter().any(|event| matches!(event, StreamEvent::Finished { .. }));
    let ended = |part: &AssemblerOutput| matches!(part, AssemblerOutput::Ended { .. });
    hold(6, finished || !first.parts.iter().any(ended), || {
        format!("an answer without its end counts as whole: {one:?}")
    })
}

/// Assembles an answer with the core's assembler.
#[must_use]
pub fn assemble(caps: AssemblerLimits, events: &[StreamEvent]) -> Answer {
    let mut assembler = Assembler::new(caps);
    let mut answer = Answer::default();
    let mut out = Vec::new();
    for event in events {
        if let Err(overflow) = assembler.push(event.clone(), &mut out) {
            answer.overflow = Some(overflow);
            break;
        }
    }
    for part in out {
        match part {
            AssemblerOutput::Delta(delta) => {
                let (slot, text) = match delta {
                    Delta::Text { slot, text }
                    | Delta::Refusal { slot, text }
                    | Delta::Reasoning { slot, text }
                    | Delta::Arguments { slot, text } => (slot, text),
                    Delta::Call { slot, name } => (slot, name + ":"),
                };
                answer.shown.entry(slot).or_default().push_str(&text);
            }
            AssemblerOutput::Item(_) | AssemblerOutput::Ended { .. } => answer.parts.push(part),
        }
    }
    answer.partial = assembler.partial_text();
    answer
}

/// Cuts the texts of an answer into pieces of at most `size` characters.
#[must_use]
pub fn cut(events: &[StreamEvent], size: usize) -> Vec<StreamEvent> {
    let mut pieces = Vec::new();
    for event in events {
        let make: fn(u32, String) -> StreamEvent = match event {
            StreamEvent::Text { .. } => |slot, text| StreamEvent::Text { slot, text },
            StreamEvent::Refusal { .. } => |slot, text| StreamEvent::Refusal { slot, text },
            StreamEvent::Reasoning { .. } => |slot, text| StreamEvent::Reasoning { slot, text },
            StreamEvent::CallArguments { .. } => {
                |slot, text| StreamEvent::CallArguments { slot, text }
            }
            StreamEvent::Opened { .. }
            | StreamEvent::Citation { .. }
            | StreamEvent::Search { .. }
            | StreamEvent::CallOpened { .. }
            | StreamEvent::Done { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished { .. } => {
                pieces.push(event.clone());
                continue;
            }
        };
        let (StreamEvent::Text { slot, text }
        | StreamEvent::Refusal { slot, text }
        | StreamEvent::Reasoning { slot, text }
        | StreamEvent::CallArguments { slot, text }) = event
        else {
            continue;
        };
        let letters: Vec<char> = text.chars().collect();
        if letters.is_empty() {
            pieces.push(event.clone());
        }
        let chunks = letters.chunks(size.max(1));
        pieces.extend(chunks.map(|chunk| make(*slot, chunk.iter().collect())));
    }
    pieces
}
