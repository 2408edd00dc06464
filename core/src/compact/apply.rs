//! Applies a cut to a conversation. Reads all of it; each part stays or is dropped as a whole.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::results::shorten;
use super::summary::SUMMARY;
use crate::append_list::AppendList;
use crate::compaction::CutPoint;
use crate::context;
use crate::fact::ContextLifetime;
use crate::history::{ConversationUnit, ConversationUnitKind};
use crate::id::TurnId;
use crate::render::PromptItem;

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
    for stretch in unit_spans(units, items.len(), turn) {
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
            kept.push(stay(item, at, cut));
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
}

impl UnitSpan<'_> {
    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.end.saturating_sub(self.unit.first)
    }

    pub(super) fn is_dropped(&self, cut: &CutPoint) -> bool {
        !self.pinned && self.end as u64 <= cut.drop_before
    }

    /// Returns the items in order.
    pub(super) fn items<'b>(
        &self,
        items: &'b AppendList<PromptItem>,
    ) -> impl Iterator<Item = &'b PromptItem> + use<'b> {
        items.iter_from(self.unit.first).take(self.len())
    }
}

/// Returns the parts of a conversation of `len` items, in order.
pub(super) fn unit_spans(
    units: &[ConversationUnit],
    len: usize,
    turn: Option<TurnId>,
) -> Vec<UnitSpan<'_>> {
    let ends = units.iter().skip(1).map(|unit| unit.first).chain([len]);
    let whole = units.iter().zip(ends).map(|(unit, end)| UnitSpan { unit, end, pinned: false });
    let mut stretches: Vec<UnitSpan<'_>> = whole.collect();
    let mut named = BTreeSet::new();
    for stretch in stretches.iter_mut().rev() {
        stretch.pinned = is_pinned(stretch.unit, turn, &mut named);
    }
    stretches
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
