//! Properties of every compaction, over many random conversations.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::apply::unit_spans;
use super::kit::{TestConversation, follows_grammar};
use super::{LIST_BYTES, summary};
use crate::compaction::{CompactionStrategy, CutPoint, MIN_RESULT_BYTES, ResultForm};
use crate::context;
use crate::fact::ContextLifetime;
use crate::history::{ConversationUnit, ConversationUnitKind};
use crate::id::TurnId;
use crate::render::PromptItem;

/// A generator from Knuth, volume 2, table 1 of section 3.3.4.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, n: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Returns unique words.
    fn words(&mut self, most: u64) -> String {
        let n = self.below(most) as usize;
        let words = ["a", "\u{fc}", "<context ", "\n"][self.below(4) as usize].repeat(n);
        format!("{:x} {words}", self.0 >> 24)
    }

    fn step(&mut self, talk: &mut TestConversation) {
        match self.below(10) {
            0 => talk.turn(),
            1 => talk.text_input(&self.words(300)),
            2 => {
                let name = ["rules", "editor", "plan"][self.below(3) as usize];
                let lasting =
                    [ContextLifetime::Session, ContextLifetime::Turn][self.below(2) as usize];
                let text = self.words(100);
                talk.input(&format!("hear {text}"), Some((name, &text, lasting)));
            }
            _ => {
                let outputs: Vec<String> = (0..self.below(4)).map(|_| self.words(1_200)).collect();
                let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
                let text = self.words(50);
                talk.answer(&text, ["read", "write"][self.below(2) as usize], &outputs);
            }
        }
    }
}

/// Returns the parts of a conversation with their items.
fn parts(talk: &TestConversation) -> Vec<(ConversationUnit, bool, Vec<PromptItem>)> {
    let items = talk.history.items();
    let stretches = unit_spans(talk.history.units(), items, Some(talk.turn));
    let parts = stretches.into_iter().map(|stretch| {
        let own: Vec<PromptItem> = stretch.items(items).cloned().collect();
        (stretch.unit.clone(), must_stay(talk, stretch.unit), own)
    });
    parts.collect()
}

/// Returns true if a part is pinned, by a definition independent of the code.
fn must_stay(talk: &TestConversation, unit: &ConversationUnit) -> bool {
    let later = |name: &String| {
        let after = talk.history.units().iter().filter(|other| other.first > unit.first);
        let same = ConversationUnitKind::Context {
            name: Some(name.clone()),
            lifetime: ContextLifetime::Session,
        };
        after.filter(|other| other.kind == same).count() > 0
    };
    let open = unit.turn == Some(talk.turn);
    match &unit.kind {
        ConversationUnitKind::Request => open,
        ConversationUnitKind::Context { name, lifetime: lasting } => {
            open || (*lasting == ContextLifetime::Session && !name.as_ref().is_some_and(later))
        }
        ConversationUnitKind::Sample | ConversationUnitKind::Summary => false,
    }
}

/// Returns true if the item is unchanged, cut to head and tail, or cleared.
fn same_or_shorter(before: &PromptItem, after: &PromptItem, cleared: bool) -> bool {
    let (
        PromptItem::Result { id, observation, .. },
        PromptItem::Result { id: later, observation: shorter, .. },
    ) = (before, after)
    else {
        return before == after;
    };
    let form = match cleared {
        true => shorter.output.contains(" bytes of output were cleared to make room."),
        false => shorter.output.contains(" bytes are left out here"),
    };
    let changed = observation.status == shorter.status
        && shorter.output.len() < observation.output.len()
        && form;
    id == later && (observation == shorter || changed)
}

/// Returns true if some cut of whole parts, with room for a list, reaches the target. Tries them
/// all.
fn possible(talk: &TestConversation, target: u64) -> bool {
    let (items, units) = (talk.history.items(), talk.history.units());
    let mut samples = units.iter().rev();
    let latest = samples.find(|unit| unit.kind == ConversationUnitKind::Sample);
    let latest = latest.filter(|unit| unit.turn == Some(talk.turn));
    let most = latest.map_or(items.len(), |unit| unit.first);
    let results = |unit: &&ConversationUnit| {
        let end = units.iter().map(|unit| unit.first).find(|first| *first > unit.first);
        let own = items.iter_from(unit.first).take(end.unwrap_or(items.len()) - unit.first);
        own.filter(|item| matches!(item, PromptItem::Result { .. })).count() > 0
    };
    let mut samples = units.iter().rev();
    let unseen = samples.find(|unit| unit.kind == ConversationUnitKind::Sample).filter(results);
    let unseen = unseen.map_or(items.len(), |unit| unit.first);
    let room = LIST_BYTES.min(target / 4).max(summary::framed_bytes(""));
    let ends = units.iter().map(|unit| unit.first).chain([items.len()]);
    let mut cuts = ends.filter(|end| *end <= most).map(|end| CutPoint {
        clear_before: unseen as u64,
        drop_before: end as u64,
        summary: None,
        results: Some(ResultForm { max_bytes: MIN_RESULT_BYTES, at_once: 0, readable: false }),
        reports: true,
    });
    cuts.any(|cut| {
        let (kept, _) = super::apply(items, units, Some(talk.turn), &cut);
        let gone = kept.len() < items.len();
        let bytes = context::visible_part(kept.iter()).bytes + if gone { room } else { 0 };
        bytes <= target
    })
}

fn check(
    talk: &mut TestConversation,
    strategy: CompactionStrategy,
    target: u64,
    words: Option<&str>,
) -> (u64, u64) {
    let (before, bytes) = (parts(talk), talk.visible().bytes);
    let possible = possible(talk, target);
    let sketch = talk.plan(strategy, target);
    assert_eq!(sketch, talk.plan(strategy, target));
    if let Some(question) = &sketch.summary_prompt {
        assert!(follows_grammar(question.items.iter()));
        let asked = context::visible_part(question.items.iter()).bytes;
        assert!(asked <= target.max(400), "{asked} of {target}");
    }
    // The history rejects a result that differs from the fact.
    let done = talk.compact(strategy, target, words);
    assert_eq!(done.visible, talk.visible());
    assert!(done.visible.bytes <= bytes, "it grew");
    assert!(done.visible.bytes <= target || !possible, "{} of {target}", done.visible.bytes);
    let ends = before.iter().map(|(unit, ..)| unit.first as u64);
    let ends: BTreeSet<u64> =
        ends.chain([before.iter().map(|part| part.2.len() as u64).sum()]).collect();
    assert!(ends.contains(&done.cut.drop_before), "a part is split");
    assert!(follows_grammar(talk.history.items().iter()));

    // Remaining items are in order and complete, and missing ones were not pinned.
    let after = parts(talk);
    let mut later = after
        .iter()
        .filter(|part| part.0.kind != ConversationUnitKind::Summary || done.cut.drop_before == 0)
        .peekable();
    let samples = before.iter().rposition(|part| part.0.kind == ConversationUnitKind::Sample);
    for (at, (unit, pinned, items)) in before.iter().enumerate() {
        let stays = later.next_if(|(other, _, own)| {
            let same =
                own.len() == items.len() && other.kind == unit.kind && other.turn == unit.turn;
            let at = |nth: usize| (unit.first + nth) as u64;
            let pairs = items.iter().zip(own).enumerate();
            let cleared = |nth: usize| at(nth) < done.cut.clear_before;
            same && { pairs }.all(|(nth, (old, new))| same_or_shorter(old, new, cleared(nth)))
        });
        let latest = Some(at) == samples;
        let seen = items.iter().position(|item| matches!(item, PromptItem::Result { .. }));
        let seen = seen.is_none_or(|nth| (unit.first + nth) as u64 >= done.cut.clear_before);
        assert!(!latest || seen, "{unit:?} was cleared before an answer was made with it");
        let last = latest && unit.turn == Some(talk.turn);
        assert!(stays.is_some() || !(*pinned || last), "{unit:?} left");
        assert!(stays.is_some() || items_end(unit, items) <= done.cut.drop_before);
    }
    assert!(later.next().is_none(), "something new came in");
    let summaries = after.iter().filter(|part| part.0.kind == ConversationUnitKind::Summary);
    assert!(summaries.count() <= 1);
    (done.cut.clear_before, done.cut.drop_before)
}

fn items_end(unit: &ConversationUnit, items: &[PromptItem]) -> u64 {
    (unit.first + items.len()) as u64
}

#[test]
fn every_compaction_keeps_what_it_must_and_comes_down_to_its_target() {
    let (mut cleared, mut left) = (0, 0);
    for seed in 0..300 {
        let mut dice = TestRng(seed);
        let mut talk = TestConversation::new();
        talk.turn = TurnId(1 + dice.below(2));
        for _ in 0..=dice.below(4) {
            for _ in 0..dice.below(30) {
                dice.step(&mut talk);
            }
            let strategies =
                [CompactionStrategy::Clear, CompactionStrategy::Slide, CompactionStrategy::Summary];
            let strategy = strategies[dice.below(3) as usize];
            let bytes = talk.visible().bytes;
            let target = [bytes / 2, bytes * 9 / 10, 3_000, 500][dice.below(4) as usize];
            let words = "s".repeat(dice.below(4_000) as usize);
            let words = (dice.below(3) > 0).then_some(words.as_str());
            let (clears, leaves) = check(&mut talk, strategy, target, words);
            cleared += u64::from(clears > 0);
            left += u64::from(leaves > 0);
        }
    }
    assert!(cleared > 50 && left > 100, "{cleared} {left}");
}
