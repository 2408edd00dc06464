//! The witness of one session: it stands outside of every process, and remembers what the store
//! was given, what was acknowledged and published, and what tools did.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{CallStarted, EffectClass, EffectKey, Epoch, Fact, Seq};

use super::breach::{Breach, Promise, breach, keep};
use super::driver::decode;

/// What is known of one session from outside.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// The facts that nobody may lose any more: acknowledged, or read by a claim.
    known: Vec<Vec<u8>>,
    /// Appends whose end nobody knows.
    open: Vec<(Seq, Vec<Vec<u8>>)>,
    /// The latest claim.
    epoch: Option<Epoch>,
    /// Claims whose drivers have been told that they are superseded.
    told: BTreeSet<Epoch>,
    /// How often each effectful call ran, by its idempotency key.
    ran: BTreeMap<String, u32>,
}

/// What a read of a log tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A claim: what it finds is durable.
    Claim(Epoch),
    /// Somebody looks, and what is there may not be durable yet.
    Look,
}

impl Witness {
    /// How many facts nobody may lose any more.
    pub(super) fn known(&self) -> usize {
        self.known.len()
    }

    /// The text at a position that nobody may lose any more.
    fn text(&self, at: Seq) -> Option<&Vec<u8>> {
        let place = usize::try_from(at.0.checked_sub(1)?).ok()?;
        self.known.get(place)
    }

    /// Returns true if a claim is the latest.
    pub(super) fn is_latest(&self, epoch: Epoch) -> bool {
        self.epoch == Some(epoch)
    }

    /// A driver does something that others see.
    pub(super) fn acts(&self, epoch: Epoch, what: &str) -> Result<(), Breach> {
        keep(Promise::OneWriter, !self.told.contains(&epoch), || {
            format!("the driver of claim {epoch:?} was told that it is superseded, and then {what}")
        })
    }

    /// A driver was told that it is superseded.
    pub(super) fn told(&mut self, epoch: Epoch) {
        self.told.insert(epoch);
    }

    /// An append is sent.
    pub(super) fn sends(&mut self, after: Seq, texts: &[Vec<u8>]) {
        self.open.push((after, texts.to_vec()));
    }

    /// The store begins an append of this claim.
    pub(super) fn begins(&self, epoch: Epoch) -> Result<(), Breach> {
        keep(Promise::OneWriter, self.epoch == Some(epoch), || {
            format!(
                "the store takes an append of claim {epoch:?}, and the latest is {:?}",
                self.epoch
            )
        })
    }

    /// A log is read. Answers how many facts nobody had been told of.
    pub(super) fn reads(&mut self, reading: Reading, texts: &[Vec<u8>]) -> Result<usize, Breach> {
        keep(Promise::Kept, texts.len() >= self.known.len(), || {
            let (read, known) = (texts.len(), self.known.len());
            format!("{known} facts were acknowledged, and the log has {read}")
        })?;
        let mut places = self.known.iter().zip(texts);
        if let Some(place) = places.position(|(known, read)| known != read) {
            let text = |text: Option<&Vec<u8>>| {
                String::from_utf8_lossy(text.map_or(&[][..], Vec::as_slice)).into_owned()
            };
            let what = format!(
                "position {} was acknowledged as\n{}\nand is read as\n{}",
                place + 1,
                text(self.known.get(place)),
                text(texts.get(place))
            );
            return Err(breach(Promise::Kept, what));
        }
        let mut at = self.known.len();
        while let Some(rest) = texts.get(at..)
            && !rest.is_empty()
        {
            let fits = |(after, sent): &&(Seq, Vec<Vec<u8>>)| {
                after.0 == at as u64 && rest.starts_with(sent)
            };
            let Some((_, sent)) = self.open.iter().find(fits) else {
                let what = format!("what stands behind position {at} is no append that was sent");
                return Err(breach(Promise::Whole, what));
            };
            at += sent.len();
        }
        let unknown = at - self.known.len();
        if let Reading::Claim(epoch) = reading {
            self.epoch = Some(epoch);
            self.known = texts.to_vec();
            self.open.clear();
        }
        Ok(unknown)
    }

    /// Facts are published.
    pub(super) fn published(&mut self, first: Seq, texts: &[Vec<u8>]) -> Result<(), Breach> {
        let mut at = first;
        for text in texts {
            match self.text(at) {
                Some(known) => keep(Promise::Published, known == text, || {
                    format!("position {at} is published as another fact than the log has")
                })?,
                None => {
                    keep(Promise::Published, at.0 == self.known.len() as u64 + 1, || {
                        format!("position {at} is published, and those before it never were kept")
                    })?;
                    self.known.push(text.clone());
                }
            }
            at = at.next();
        }
        let known = self.known.len() as u64;
        self.open.retain(|(after, _)| after.0 >= known);
        Ok(())
    }

    /// A checkpoint is written.
    pub(super) fn checkpointed(&self, last: Seq) -> Result<(), Breach> {
        keep(Promise::Kept, last.0 <= self.known.len() as u64, || {
            format!("a checkpoint holds position {last}, which is not durable")
        })
    }

    /// A user is told that an input is kept.
    pub(super) fn acknowledged(&self, first: Seq, said: &str) -> Result<(), Breach> {
        let Some(text) = self.text(first) else {
            let what = format!("{said:?} is acknowledged at {first}, which is not durable");
            return Err(breach(Promise::Kept, what));
        };
        let fact = decode(text)?.fact;
        let same = matches!(&fact, Fact::InputQueued(fact) if &*fact.text == said);
        keep(Promise::Heard, same, || {
            format!("{said:?} is acknowledged at {first}, where the log has {}", fact.kind())
        })
    }

    /// A tool runs.
    pub(super) fn ran(
        &mut self,
        key: EffectKey,
        class: EffectClass,
        started: Option<&CallStarted>,
    ) -> Result<(), Breach> {
        let repeatable = match class {
            EffectClass::ReadOnly => return Ok(()),
            EffectClass::Idempotent => true,
            EffectClass::Effectful => false,
        };
        let Some(started) = started else {
            let what = format!("{key} changes something, and no fact says that it started");
            return Err(breach(Promise::Once, what));
        };
        let durable = self.text(key.started()).map(|text| decode(text)).transpose()?;
        let same = durable.is_some_and(
            |recorded| matches!(recorded.fact, Fact::CallStarted(fact) if fact == *started),
        );
        keep(Promise::Once, same, || {
            format!("{key} changes something, and the store has not kept that it started")
        })?;
        let times = self.ran.entry(started.idempotency_key.clone()).or_default();
        *times += 1;
        keep(Promise::Once, repeatable || *times == 1, || {
            format!("{key} is effectful, and runs for the {times}th time")
        })
    }

    /// Returns true if a call took effect, as its tool knows.
    pub(super) fn has_run(&self, idempotency_key: &str) -> bool {
        self.ran.contains_key(idempotency_key)
    }
}
