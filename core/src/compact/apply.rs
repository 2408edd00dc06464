//! Applies a cut to a conversation. Reads all of it; each part stays or is dropped as a whole.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::results::shorten;
use super::summary::SUMMARY;
use crate::append_list::AppendList;
use crate::call::ObservationStatus;
use crate::compaction::CutPoint;
use crate::context;
use crate::fact::ContextLifetime;
use crate::history::{ConversationUnit, ConversationUnitKind};
use crate::id::TurnId;
use crate::render::PromptItem;

/// Most bytes of lasting results that compactions retain, the latest first.
const MAX_LASTING_BYTES: usize = 32 << 10;

/// Returns the conversation after a cut, with its parts. `turn` is the open turn: its pinned items
/// and lasting context stay.
///
/// Accepts any cut: a part that the cut would split stays whole.
pub(crate) fn apply(
    items: &AppendList<PromptItem>,
    units: &[ConversationUnit],
    turn: Option<TurnId>,
    cut: &CutPoint,
) -> (AppendList<PromptItem>, Vec<ConversationUnit>) {
    let (mut kept, mut parts) = (AppendList::default(), Vec::with_capacity(units.len()));
    let mut summary = cut.summary.as_deref();
    let mut rest = items.iter().enumerate();
    let before = units.first().map_or(items.len(), |unit| unit.first);
    for (_, item) in rest.by_ref().take(before) {
        kept.push(item.clone());
    }
    for stretch in unit_spans(units, items, turn) {
        let own = rest.by_ref().take(stretch.len());
        if stretch.is_dropped(cut) {
            own.for_each(drop);
            if let Some(text) = summary.take() {
                parts.push(ConversationUnit {
                    first: kept.len(),
                    turn,
                    kind: ConversationUnitKind::Summary,
                });
                kept.push(PromptItem::Context { text: context::frame(SUMMARY, text).into() });
            }
            continue;
        }
        parts.push(ConversationUnit { first: kept.len(), ..stretch.unit.clone() });
        for (at, item) in own {
            kept.push(match stretch.lasts(item) {
                true => item.clone(),
                false => stay(item, at, cut),
            });
        }
    }
    (kept, parts)
}

/// A part with its end, and whether it is pinned.
pub(super) struct UnitSpan<'a> {
    pub(super) unit: &'a ConversationUnit,
    /// Index after its last item.
    pub(super) end: usize,
    pub(super) pinned: bool,
    /// True if it is pinned for its lasting results, which stay whole.
    lasting: bool,
}

impl UnitSpan<'_> {
    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.end.saturating_sub(self.unit.first)
    }

    pub(super) fn is_dropped(&self, cut: &CutPoint) -> bool {
        !self.pinned && self.end as u64 <= cut.drop_before
    }

    /// Returns true if the item is a result that stays whole.
    pub(super) fn lasts(&self, item: &PromptItem) -> bool {
        self.lasting && lasting(item).is_some()
    }

    /// Returns the items in order.
    pub(super) fn items<'b>(
        &self,
        items: &'b AppendList<PromptItem>,
    ) -> impl Iterator<Item = &'b PromptItem> + use<'b> {
        items.iter_from(self.unit.first).take(self.len())
    }
}

/// Returns the parts of a conversation, in order.
pub(super) fn unit_spans<'a>(
    units: &'a [ConversationUnit],
    items: &AppendList<PromptItem>,
    turn: Option<TurnId>,
) -> Vec<UnitSpan<'a>> {
    let ends = units.iter().skip(1).map(|unit| unit.first).chain([items.len()]);
    let span = |(unit, end)| UnitSpan { unit, end, pinned: false, lasting: false };
    let mut stretches: Vec<UnitSpan<'_>> = units.iter().zip(ends).map(span).collect();
    let (mut named, mut results) = (BTreeSet::new(), LastingResults::default());
    for stretch in stretches.iter_mut().rev() {
        stretch.lasting = stretch.unit.kind == ConversationUnitKind::Sample
            && results.retain(stretch.items(items));
        stretch.pinned = stretch.lasting || is_pinned(stretch.unit, turn, &mut named);
    }
    stretches
}

/// Lasting results of the parts after one.
struct LastingResults {
    names: BTreeSet<String>,
    /// Bytes that are left for further ones.
    bytes: usize,
}

impl Default for LastingResults {
    fn default() -> Self {
        Self { names: BTreeSet::new(), bytes: MAX_LASTING_BYTES }
    }
}

impl LastingResults {
    /// Returns true if an answer has results that are the latest of their names, and all fit.
    fn retain<'a>(&mut self, items: impl Iterator<Item = &'a PromptItem>) -> bool {
        let results = items.filter_map(lasting);
        let new = |(name, _): &(&String, usize)| !self.names.contains(*name);
        let new: Vec<(&String, usize)> = results.filter(new).collect();
        let bytes = new.iter().fold(0_usize, |sum, (_, bytes)| sum.saturating_add(*bytes));
        if new.is_empty() || bytes > self.bytes {
            return false;
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        self.names.extend(new.into_iter().map(|(name, _)| name.clone()));
        true
    }
}

/// Returns the name and the length of a lasting result.
fn lasting(item: &PromptItem) -> Option<(&String, usize)> {
    let PromptItem::Result { observation, .. } = item else {
        return None;
    };
    let done = observation.status == ObservationStatus::Done && observation.images.is_empty();
    let name = observation.lasting.as_ref().filter(|_| done)?;
    Some((name, observation.output.len()))
}

/// Returns true if a part is pinned. `named` holds the names of the lasting context after it. Only
/// lasting context replaces lasting context, since other context may be dropped.
fn is_pinned<'a>(
    unit: &'a ConversationUnit,
    turn: Option<TurnId>,
    named: &mut BTreeSet<&'a str>,
) -> bool {
    let open = turn.is_some() && unit.turn == turn;
    match &unit.kind {
        ConversationUnitKind::Request => open,
        ConversationUnitKind::Context { lifetime: ContextLifetime::Turn, .. } => open,
        ConversationUnitKind::Context { lifetime: ContextLifetime::Session, name: None } => true,
        ConversationUnitKind::Context { lifetime: ContextLifetime::Session, name: Some(name) } => {
            let latest = named.insert(name.as_str());
            latest || open
        }
        ConversationUnitKind::Sample | ConversationUnitKind::Summary => false,
    }
}

/// Returns an item that stays, with its result shortened.
fn stay(item: &PromptItem, at: usize, cut: &CutPoint) -> PromptItem {
    match item {
        PromptItem::Result { id, observation, edited } => PromptItem::Result {
            id: id.clone(),
            observation: shorten(observation, id, at, cut)
                .map_or_else(|| observation.clone(), Arc::new),
            edited: edited.clone(),
        },
        PromptItem::ProgramReport { call, observation } if cut.reports => {
            PromptItem::ProgramReport {
                call: *call,
                observation: shorten(observation, &call.reference(), at, cut)
                    .map_or_else(|| observation.clone(), Arc::new),
            }
        }
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Text { .. }
        | PromptItem::Refusal { .. }
        | PromptItem::Reasoning { .. }
        | PromptItem::Call { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => item.clone(),
    }
}
