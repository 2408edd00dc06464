//! A case of whole sessions: simulated worlds whose log the store keeps, held to the laws.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::cell::Cell;
use std::sync::Arc;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{Durability, LogStore, codec};

use super::StoreFixture;
use super::violation::{Checked, Violation, done, run};
use super::writer::session;
use crate::laws::{ALL, Broken, Evidence, LawMoment, Tally, broken, law_01_live_equals_fold};
use crate::world::{Script, Step, Transitions, World, random};

/// How many worlds.
const WORLDS: u32 = 12;

/// Steps of a world, about.
const STEPS: usize = 30;

/// How often a world that breaks a law is made smaller at most.
const SHRINKS: u32 = 200;

/// The laws hold in worlds whose log the store keeps. What it says of a broken law is its number
/// and the smallest script that breaks it.
///
/// A world's facts are appended as they become durable. After each step the log is what the store
/// reads back, and after each crash it is what the store reads once opened again.
pub fn the_laws_hold_in_worlds_that_it_keeps(at: &dyn StoreFixture) -> Checked {
    let config = Config {
        cases: WORLDS,
        failure_persistence: None,
        max_shrink_iters: SHRINKS,
        ..Config::default()
    };
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, seed);
    let count = Cell::new(0_u32);
    let found = runner.run(&random::script(STEPS), |script| {
        let number = count.get();
        count.set(number + 1);
        run(keep(at, &script, number)).map_err(|violation| {
            let why = violation.to_string();
            TestCaseError::fail(why)
        })
    });
    match found {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, script)) => Err(Violation::new(format!(
            "{why}\nin this world, whose log the store keeps:\n{script}"
        ))),
        Err(TestError::Abort(why)) => Err(Violation::new(format!("no world was made: {why}"))),
    }
}

/// Runs a world whose log the store keeps, in a session of its own.
async fn keep(at: &dyn StoreFixture, script: &Script, number: u32) -> Checked {
    let store = at.open().await;
    let id = session(&format!("world-{number}"))?;
    let mut kept = Kept::claim(store, id).await?;
    let broken = |broken: Broken| Violation::new(broken.to_string());
    let mut world = World::open(Transitions::CORE, &script.opening).map_err(broken)?;
    for step in &script.steps {
        world.step(step).map_err(broken)?;
        if let Step::Crash { .. } = step {
            let outlived = world.evidence().losses.last().map_or(Seq::ZERO, |loss| loss.kept);
            kept.append(&world, outlived).await?;
            kept = kept.reopened(at).await?;
            kept.check(&world, outlived).await?;
        }
        let durable = world.evidence().durable;
        kept.append(&world, durable).await?;
        kept.check(&world, durable).await?;
    }
    Ok(())
}

/// A session in the store under test.
struct Kept {
    store: Arc<dyn LogStore>,
    id: SessionId,
    epoch: Epoch,
    last: Seq,
}

impl Kept {
    async fn claim(store: Arc<dyn LogStore>, id: SessionId) -> Result<Self, Violation> {
        let claimed = done(store.claim(&id).await, "claiming a session")?;
        Ok(Self { store, id, epoch: claimed.epoch, last: claimed.last })
    }

    /// The process dies, and the next one opens the store again. Where the store promises nothing
    /// for that, the next writer claims the session in the same store.
    async fn reopened(self, at: &dyn StoreFixture) -> Result<Self, Violation> {
        let last = self.last;
        let store = if self.store.capabilities().durability == Durability::Memory {
            self.store
        } else {
            drop(self.store);
            at.open().await
        };
        let next = Self::claim(store, self.id).await?;
        if next.last == last {
            return Ok(next);
        }
        let what = format!(
            "the log was acknowledged up to {last}, and opened again it is claimed as one that \
             ends at {}: the live state was not the fold of the log",
            next.last
        );
        Err(Violation::new(broken(1, what).to_string()))
    }

    /// Appends what the world's log holds up to a position and the store does not.
    async fn append(&mut self, world: &World, up_to: Seq) -> Checked {
        let new = |recorded: &&RecordedFact| recorded.seq > self.last && recorded.seq <= up_to;
        let facts = world.log().iter().filter(new);
        let facts: Vec<Arc<RecordedFact>> = facts
            .map(|recorded| Arc::new(RecordedFact { session: self.id.clone(), ..recorded.clone() }))
            .collect();
        if facts.is_empty() {
            return Ok(());
        }
        let appended = self.store.append(&self.id, self.epoch, self.last, &facts);
        let what = format!("appending {} facts after {}", facts.len(), self.last);
        done(appended.await, &what)?;
        self.last = up_to;
        Ok(())
    }

    /// Holds the log that the store reads back to the laws.
    async fn check(&self, world: &World, up_to: Seq) -> Checked {
        let what = format!("reading the {up_to} facts of {}", self.id);
        let read = done(self.store.read(&self.id, Seq::ZERO, usize::MAX).await, &what)?;
        let log: Vec<RecordedFact> = read
            .into_iter()
            .map(|recorded| RecordedFact { session: world.session().id.clone(), ..recorded })
            .collect();
        let held = held(world, &log, up_to);
        held.map_err(|broken| Violation::new(broken.to_string()))
    }
}

/// Holds a log that was read to the laws, where the world's own log ended at `up_to`.
fn held(world: &World, log: &[RecordedFact], up_to: Seq) -> Result<(), Broken> {
    let own = world.log().iter().take_while(|own| own.seq <= up_to);
    let mut read = log.iter();
    for own in own {
        let told = |recorded: Option<&RecordedFact>| {
            let text = recorded.map(codec::encode).and_then(Result::ok);
            text.map_or_else(
                || String::from("nothing"),
                |text| String::from_utf8_lossy(&text).into_owned(),
            )
        };
        let read = read.next();
        if read != Some(own) {
            let (own, read) = (told(Some(own)), told(read));
            let what = format!("the log held\n{own}\nand what is read there is\n{read}");
            return Err(broken(1, what));
        }
    }
    if let Some(more) = read.next() {
        let what = format!("{} is read, and was never appended", more.seq);
        return Err(broken(1, what));
    }
    let whole = world.evidence();
    if up_to == world.last() {
        let mut applied = Tally::default();
        return Evidence { log, ..whole }.check(ALL, LawMoment::Step, &mut applied);
    }
    law_01_live_equals_fold::fold(log).map(|_| ())
}
