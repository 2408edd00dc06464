//! What holds of every compaction, over many conversations made from seeds.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::apply::{SHORT_BYTES, stretches};
use super::kit::{Talk, follows_grammar};
use super::{LIST_BYTES, summary};
use crate::compaction::{Cut, Strategy};
use crate::context;
use crate::fact::Lasting;
use crate::history::{Unit, UnitKind};
use crate::id::TurnId;
use crate::render::PromptItem;

/// A generator from Knuth, volume 2, table 1 of section 3.3.4.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Words that are not said twice.
    fn words(&mut self, most: u64) -> String {
        let n = self.below(most) as usize;
        let words = ["a", "\u{fc}", "<context ", "\n"][self.below(4) as usize].repeat(n);
        format!("{:x} {words}", self.0 >> 24)
    }

    fn step(&mut self, talk: &mut Talk) {
        match self.below(10) {
            0 => talk.turn(),
            1 => talk.says(&self.words(300)),
            2 => {
                let name = ["rules", "editor", "plan"][self.below(3) as usize];
                let lasting = [Lasting::Session, Lasting::Turn][self.below(2) as usize];
                let text = self.words(100);
                talk.said("hear", Some((name, &text, lasting)));
            }
            _ => {
                let outputs: Vec<String> = (0..self.below(4)).map(|_| self.words(1_200)).collect();
                let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
                let text = self.words(50);
                talk.answers(&text, ["read", "write"][self.below(2) as usize], &outputs);
            }
        }
    }
}

/// The parts of a conversation with their items.
fn parts(talk: &Talk) -> Vec<(Unit, bool, Vec<PromptItem>)> {
    let items = talk.history.items();
    let stretches = stretches(talk.history.units(), items.len(), Some(talk.turn));
    let parts = stretches.into_iter().map(|stretch| {
        let own: Vec<PromptItem> = stretch.items(items).cloned().collect();
        (stretch.unit.clone(), must_stay(talk, stretch.unit), own)
    });
    parts.collect()
}

/// What is pinned, said another way than the code does.
fn must_stay(talk: &Talk, unit: &Unit) -> bool {
    let later = |name: &String| {
        let after = talk
            .history
            .units()
            .iter()
            .filter(|other| other.first > unit.first);
        let same = UnitKind::Context {
            name: Some(name.clone()),
            lasting: Lasting::Session,
        };
        after.filter(|other| other.kind == same).count() > 0
    };
    let open = unit.turn == Some(talk.turn);
    match &unit.kind {
        UnitKind::Request => open,
        UnitKind::Context { name, lasting } => {
            open || (*lasting == Lasting::Session && !name.as_ref().is_some_and(later))
        }
        UnitKind::Sample | UnitKind::Summary => false,
    }
}

/// The item, or the item as it is once cleared.
fn same_or_cleared(before: &PromptItem, after: &PromptItem) -> bool {
    let (
        PromptItem::Result {
            id, observation, ..
        },
        PromptItem::Result {
            id: later,
            observation: shorter,
            ..
        },
    ) = (before, after)
    else {
        return before == after;
    };
    id == later
        && (observation == shorter
            || (observation.output.len() > SHORT_BYTES
                && shorter.output.len() <= SHORT_BYTES
                && observation.status == shorter.status))
}

/// Whether some cut of whole parts with room for a list comes down to the target. Tries them all.
fn possible(talk: &Talk, target: u64) -> bool {
    let (items, units) = (talk.history.items(), talk.history.units());
    let mut samples = units.iter().rev();
    let latest = samples.find(|unit| unit.kind == UnitKind::Sample);
    let latest = latest.filter(|unit| unit.turn == Some(talk.turn));
    let most = latest.map_or(items.len(), |unit| unit.first);
    let room = LIST_BYTES.min(target / 4).max(summary::framed(""));
    let ends = units.iter().map(|unit| unit.first).chain([items.len()]);
    let mut cuts = ends.filter(|end| *end <= most).map(|end| Cut {
        cleared: items.len() as u64,
        left: end as u64,
        summary: None,
    });
    cuts.any(|cut| {
        let (kept, _) = super::apply(items, units, Some(talk.turn), &cut);
        let gone = kept.len() < items.len();
        let bytes = context::shown(kept.iter()).bytes + if gone { room } else { 0 };
        bytes <= target
    })
}

fn check(talk: &mut Talk, strategy: Strategy, target: u64, words: Option<&str>) -> (u64, u64) {
    let (before, bytes) = (parts(talk), talk.shown().bytes);
    let possible = possible(talk, target);
    let sketch = talk.sketch(strategy, target);
    assert_eq!(sketch, talk.sketch(strategy, target));
    if let Some(question) = &sketch.question {
        assert!(follows_grammar(question.items.iter()));
        let asked = context::shown(question.items.iter()).bytes;
        assert!(asked <= target.max(400), "{asked} of {target}");
    }
    // The history takes it only if it comes out as it says.
    let done = talk.compact(strategy, target, words);
    assert_eq!(done.shown, talk.shown());
    assert!(done.shown.bytes <= bytes, "it grew");
    assert!(
        done.shown.bytes <= target || !possible,
        "{} of {target}",
        done.shown.bytes
    );
    let ends = before.iter().map(|(unit, ..)| unit.first as u64);
    let ends: BTreeSet<u64> = ends
        .chain([before.iter().map(|part| part.2.len() as u64).sum()])
        .collect();
    assert!(ends.contains(&done.cut.left), "a part is split");
    assert!(follows_grammar(talk.history.items().iter()));

    // What stays is in order and whole, and what is not there may leave.
    let after = parts(talk);
    let mut later = after
        .iter()
        .filter(|part| part.0.kind != UnitKind::Summary || done.cut.left == 0)
        .peekable();
    let samples = before
        .iter()
        .rposition(|part| part.0.kind == UnitKind::Sample);
    for (at, (unit, pinned, items)) in before.iter().enumerate() {
        let stays = later.next_if(|(other, _, own)| {
            let same =
                own.len() == items.len() && other.kind == unit.kind && other.turn == unit.turn;
            same && items
                .iter()
                .zip(own)
                .all(|(old, new)| same_or_cleared(old, new))
        });
        let last = Some(at) == samples && unit.turn == Some(talk.turn);
        assert!(stays.is_some() || !(*pinned || last), "{unit:?} left");
        assert!(stays.is_some() || items_end(unit, items) <= done.cut.left);
    }
    assert!(later.next().is_none(), "something new came in");
    let summaries = after.iter().filter(|part| part.0.kind == UnitKind::Summary);
    assert!(summaries.count() <= 1);
    (done.cut.cleared, done.cut.left)
}

fn items_end(unit: &Unit, items: &[PromptItem]) -> u64 {
    (unit.first + items.len()) as u64
}

#[test]
fn every_compaction_keeps_what_it_must_and_comes_down_to_its_target() {
    let (mut cleared, mut left) = (0, 0);
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut talk = Talk::new();
        talk.turn = TurnId(1 + dice.below(2));
        for _ in 0..=dice.below(4) {
            for _ in 0..dice.below(30) {
                dice.step(&mut talk);
            }
            let strategies = [Strategy::Clear, Strategy::Slide, Strategy::Summary];
            let strategy = strategies[dice.below(3) as usize];
            let bytes = talk.shown().bytes;
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
