//! Leases in memory that keep every promise of the port, or all but one.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use windlass_core::{Epoch, Timestamp};
use windlass_ports::{
    Clock as _, Lease, LeaseCapabilities, LeaseError, LeaseErrorKind, LeaseStatus, Leases,
};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::leases::LeasesFixture;

use crate::meeting::Meeting;

const LEAST_MS: u64 = 100;
const MOST_MS: u64 = 60_000;
const NAME_BYTES: usize = 64;

/// The one promise that the leases break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    GrantsPerObject,
    TellsWhoAsks,
    ChecksThenActs,
    FoldsNames,
    RefusesTheSameHolder,
    KeepsTheEpochOfTheHolder,
    BeginsAnewOnOpening,
    ForgetsEpochsOfTheReleased,
    TakesAnyTime,
    TakesAnyName,
    NeverEnds,
    EndsEarly,
    RenewsNothing,
    RenewsFromTheEnd,
    RenewsOnlyInWords,
    RenewsWhatAnotherHad,
    RenewsOverAnother,
    ReleasesNothing,
    RenewsWhatWasReleased,
    ReleasesByName,
    ReleasesByHolder,
}

/// A place whose leases all have the same fault.
pub(crate) struct Place {
    fault: Option<Fault>,
    clock: ManualClock,
    kept: Arc<Mutex<Kept>>,
    racers: Arc<Meeting>,
    openings: Mutex<u64>,
}

#[derive(Default)]
struct Kept {
    epoch: u64,
    names: BTreeMap<String, Held>,
}

struct Held {
    lease: Lease,
    until: Timestamp,
    released: bool,
}

impl Place {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            clock: ManualClock::new(Timestamp(1_000_000), 1),
            kept: Arc::default(),
            racers: Arc::default(),
            openings: Mutex::default(),
        }
    }
}

#[async_trait]
impl LeasesFixture for Place {
    async fn open(&self) -> Arc<dyn Leases> {
        let mut openings = self.openings.lock().unwrap();
        *openings += 1;
        let kept = match self.fault {
            Some(Fault::GrantsPerObject) => Arc::default(),
            _ => self.kept.clone(),
        };
        // Two are open at a time, so the third is another life.
        if self.fault == Some(Fault::BeginsAnewOnOpening) && *openings % 2 == 1 {
            *kept.lock().unwrap() = Kept::default();
        }
        Arc::new(Reference {
            fault: self.fault,
            clock: self.clock.clone(),
            kept,
            racers: self.racers.clone(),
        })
    }

    async fn pass(&self, ms: u64) {
        self.clock.advance(ms);
    }
}

struct Reference {
    fault: Option<Fault>,
    clock: ManualClock,
    kept: Arc<Mutex<Kept>>,
    racers: Arc<Meeting>,
}

impl Reference {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }

    fn key(&self, name: &str) -> String {
        match self.fault {
            Some(Fault::FoldsNames) => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }

    /// Who holds a name now.
    fn holding(&self, kept: &Kept, name: &str) -> Option<LeaseStatus> {
        let held = kept.names.get(&self.key(name))?;
        let now = self.clock.now();
        let ended = now >= held.until && !self.is(Fault::NeverEnds);
        if held.released || ended {
            return None;
        }
        Some(LeaseStatus {
            holder: held.lease.holder.clone(),
            epoch: held.lease.epoch,
            remaining_ms: held.until.since_ms(now),
        })
    }

    fn until(&self, ttl_ms: u64) -> Timestamp {
        let ttl_ms = match self.fault {
            Some(Fault::EndsEarly) => ttl_ms / 2,
            _ => ttl_ms,
        };
        self.clock.now().plus_ms(ttl_ms)
    }

    fn admit(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<(), LeaseError> {
        let time = (LEAST_MS..=MOST_MS).contains(&ttl_ms) || self.is(Fault::TakesAnyTime);
        let texts = [name, holder]
            .into_iter()
            .all(|text| (1..=NAME_BYTES).contains(&text.len()) || self.is(Fault::TakesAnyName));
        match time && texts {
            true => Ok(()),
            false => Err(error(LeaseErrorKind::Invalid)),
        }
    }
}

#[async_trait]
impl Leases for Reference {
    fn capabilities(&self) -> LeaseCapabilities {
        LeaseCapabilities {
            min_ttl_ms: LEAST_MS,
            max_ttl_ms: MOST_MS,
            name_bytes: NAME_BYTES,
            slack_ms: 0,
        }
    }

    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError> {
        self.admit(name, holder, ttl_ms)?;
        let stands = self.holding(&self.kept(), name);
        if let Some(mut holding) = stands
            && (holding.holder != holder || self.is(Fault::RefusesTheSameHolder))
        {
            if self.is(Fault::TellsWhoAsks) {
                holding.holder = holder.to_owned();
            }
            return Err(error(LeaseErrorKind::Held(holding)));
        }
        if self.is(Fault::ChecksThenActs) {
            self.racers.meet().await;
        }
        let mut kept = self.kept();
        // Another may have come between the look and the lock.
        if let Some(holding) = self.holding(&kept, name)
            && holding.holder != holder
            && !self.is(Fault::ChecksThenActs)
        {
            return Err(error(LeaseErrorKind::Held(holding)));
        }
        let before = kept.names.get(&self.key(name));
        let same = before.filter(|before| before.lease.holder == holder && !before.released);
        let epoch = match (same, self.fault) {
            (Some(same), Some(Fault::KeepsTheEpochOfTheHolder)) => same.lease.epoch,
            (_, Some(Fault::ForgetsEpochsOfTheReleased))
                if before.is_some_and(|before| before.released) =>
            {
                Epoch(1)
            }
            _ => {
                kept.epoch += 1;
                Epoch(kept.epoch)
            }
        };
        let lease = Lease { name: name.to_owned(), holder: holder.to_owned(), epoch, ttl_ms };
        let held = Held { lease: lease.clone(), until: self.until(ttl_ms), released: false };
        kept.names.insert(self.key(name), held);
        Ok(lease)
    }

    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError> {
        let mut kept = self.kept();
        let now = self.clock.now();
        let (until, fault) = (self.until(lease.ttl_ms), self.fault);
        let key = self.key(&lease.name);
        let Some(held) = kept.names.get_mut(&key) else {
            return Err(error(LeaseErrorKind::Lost));
        };
        let same = held.lease.epoch == lease.epoch;
        let free = held.released || now >= held.until;
        let renewed = match fault {
            Some(Fault::RenewsNothing | Fault::RenewsOnlyInWords) if same => return Ok(()),
            Some(Fault::RenewsOverAnother) => true,
            Some(Fault::RenewsWhatAnotherHad) => (same && !held.released) || (!same && free),
            Some(Fault::RenewsWhatWasReleased) => same,
            _ => same && !held.released,
        };
        if !renewed {
            return Err(error(LeaseErrorKind::Lost));
        }
        held.until = match fault {
            Some(Fault::RenewsFromTheEnd) => held.until.plus_ms(lease.ttl_ms),
            _ => until,
        };
        held.released = false;
        held.lease = lease.clone();
        Ok(())
    }

    async fn release(&self, lease: &Lease) -> Result<(), LeaseError> {
        let mut kept = self.kept();
        let key = self.key(&lease.name);
        if let Some(held) = kept.names.get_mut(&key) {
            let same = match self.fault {
                Some(Fault::ReleasesNothing) => false,
                Some(Fault::ReleasesByName) => true,
                Some(Fault::ReleasesByHolder) => held.lease.holder == lease.holder,
                _ => held.lease.epoch == lease.epoch,
            };
            held.released |= same;
        }
        Ok(())
    }

    async fn holder(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError> {
        Ok(self.holding(&self.kept(), name))
    }
}

fn error(kind: LeaseErrorKind) -> LeaseError {
    LeaseError::new(kind, "the reference leases of the test kit refuse this")
}
