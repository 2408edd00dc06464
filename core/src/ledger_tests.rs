//! Tests of the cache ledger over logs with one change between two requests.

use alloc::boxed::Box;

use super::*;
use crate::compact::kit;
use crate::compaction::{CutPoint, VisiblePart};
use crate::digest::Digest;
use crate::fact::{
    Compacted, Fact, Lineage, Reservation, SampleEnded, SampleStarted, SessionOpened,
    SettingsChanged, TurnOpened,
};
use crate::format::FactFormat;
use crate::id::SessionId;
use crate::item::StopReason;
use crate::reason::Reason;
use crate::request_record::{LoweredPart, LoweringAction, LoweringReason, LoweringRecord};
use crate::scope::Scope;
use crate::usage::Price;

/// A growing log, with its ledger.
struct LedgerLog {
    ledger: CacheLedger,
    seq: u64,
    at: u64,
}

impl LedgerLog {
    fn new(settings: Settings) -> Self {
        let mut log = Self { ledger: CacheLedger::default(), seq: 0, at: 0 };
        log.add(Fact::SessionOpened(SessionOpened {
            owner: Arc::new(Scope::local("somebody")),
            workspace: None,
            settings: Arc::new(settings),
            lineage: Lineage::Root,
        }));
        log.turn(1);
        log
    }

    fn add(&mut self, fact: Fact) -> Option<CacheEntry> {
        self.seq += 1;
        self.ledger.apply(&RecordedFact {
            format: FactFormat::CURRENT,
            session: SessionId::new("s").unwrap(),
            seq: Seq(self.seq),
            turn: Some(TurnId(2)),
            ts: Timestamp(self.at),
            cause: None,
            fact,
        })
    }

    fn turn(&mut self, settings: u64) {
        self.add(Fact::TurnOpened(TurnOpened {
            reason: Reason::ToolResults,
            scope: Arc::new(Scope::local("somebody")),
            settings: Seq(settings),
            limits: crate::limits::Limits::default(),
            dry_run: false,
            key: None,
        }));
    }

    fn sample(
        &mut self,
        input: u64,
        cached: Option<u64>,
        asked: Option<RequestRecord>,
    ) -> Option<CacheEntry> {
        self.add(Fact::SampleStarted(SampleStarted {
            sample: 1,
            attempt: 1,
            reason: Reason::ToolResults,
            digest: Digest::EMPTY,
            reserved: Reservation::default(),
            output_bound: None,
            kind: crate::program::SampleKind::Normal,
        }));
        let started = Seq(self.seq);
        self.add(Fact::SampleEnded(SampleEnded {
            started,
            stop: StopReason::Stop,
            usage: Some(Usage { input: Some(input), cached_input: cached, ..Usage::default() }),
            estimate: None,
            response_id: None,
            request: asked.map(Box::new),
            fault: None,
        }))
    }
}

fn priced() -> Settings {
    Settings {
        price: Some(Price {
            input_micros: 2_000_000,
            cached_input_micros: 500_000,
            cache_write_micros: None,
            output_micros: 1,
        }),
        ..kit::settings()
    }
}

fn by(provider: &str) -> RequestRecord {
    RequestRecord { provider: provider.into(), ..RequestRecord::default() }
}

#[test]
fn what_a_cache_knew_costs_nothing_more() {
    let mut log = LedgerLog::new(priced());
    let first = log.sample(10_000, Some(0), None).unwrap();
    assert_eq!((first.expected, first.missed, first.broken), (0, Some(0), None));
    assert_eq!(first.cost_micros, Some(0));
    let second = log.sample(12_000, Some(9_984), None).unwrap();
    assert_eq!((second.expected, second.missed), (10_000, Some(16)));
    assert_eq!((second.broken, second.cost_micros), (None, Some(24)));
}

#[test]
fn a_provider_that_does_not_say_leaves_it_open() {
    let mut log = LedgerLog::new(priced());
    log.sample(10_000, None, None);
    let entry = log.sample(12_000, None, None).unwrap();
    assert_eq!((entry.expected, entry.missed), (10_000, None));
    assert_eq!((entry.broken, entry.cost_micros), (None, None));
    assert_eq!(log.add(Fact::SessionResumed(crate::fact::SessionResumed {})), None);
}

#[test]
fn a_break_has_its_reason() {
    let broken = |between: &dyn Fn(&mut LedgerLog), asked: Option<RequestRecord>| {
        let mut log = LedgerLog::new(kit::settings());
        log.sample(10_000, Some(0), Some(by("a")));
        between(&mut log);
        let entry = log.sample(12_000, Some(0), asked).unwrap();
        assert_eq!(entry.missed, Some(10_000));
        entry.broken.unwrap()
    };
    let nothing = |_: &mut LedgerLog| {};
    assert_eq!(
        broken(&|log| log.at += 400_000, Some(by("a"))),
        CacheBreak::Expired { idle_ms: 400_000 }
    );
    let elsewhere = CacheBreak::ProviderChanged { before: "a ".into(), now: "b ".into() };
    assert_eq!(broken(&nothing, Some(by("b"))), elsewhere);
    let lowered = LoweringRecord {
        part: LoweredPart::Image,
        action: LoweringAction::Downgraded,
        reason: LoweringReason::Missing,
        count: 1,
    };
    let more = RequestRecord { lowered: Vec::from([lowered]), ..by("a") };
    assert_eq!(broken(&nothing, Some(more)), CacheBreak::Expired { idle_ms: 0 });
    let compacts = |log: &mut LedgerLog| {
        log.add(Fact::Compacted(Compacted {
            started: Seq(1),
            cut: CutPoint::default(),
            visible: VisiblePart::EMPTY,
            usage: None,
            unmeasured: None,
            fallback: None,
        }));
    };
    assert_eq!(broken(&compacts, Some(by("a"))), CacheBreak::Compacted);
    let changes = |log: &mut LedgerLog| {
        let mut settings = kit::settings();
        settings.model = "another".into();
        settings.effort = Some("low".into());
        log.add(Fact::SettingsChanged(SettingsChanged {
            by: Arc::new(Scope::local("somebody")),
            settings: Arc::new(settings),
            key: None,
        }));
        let changed = log.seq;
        log.turn(changed);
    };
    let settings = CacheBreak::Settings(Vec::from(["model", "effort"]));
    assert_eq!(broken(&changes, Some(by("a"))), settings);
}

#[test]
fn what_is_shown_otherwise_than_before_breaks_a_prefix() {
    let lowered = |count| {
        let lowered = LoweringRecord {
            part: LoweredPart::Image,
            action: LoweringAction::Downgraded,
            reason: LoweringReason::Missing,
            count,
        };
        let lowered = Vec::from([lowered]);
        Some(RequestRecord { lowered, ..by("a") })
    };
    let mut log = LedgerLog::new(kit::settings());
    log.sample(10_000, Some(0), lowered(1));
    let entry = log.sample(12_000, Some(0), Some(by("a"))).unwrap();
    assert_eq!(entry.broken, Some(CacheBreak::LoweringChanged));
}

#[test]
fn less_than_a_block_proves_nothing() {
    let mut log = LedgerLog::new(kit::settings());
    log.sample(BLOCK_TOKENS, Some(0), None);
    let entry = log.sample(5_000, Some(0), None).unwrap();
    assert_eq!((entry.missed, entry.broken), (Some(BLOCK_TOKENS), None));
    let mut log = LedgerLog::new(kit::settings());
    log.sample(BLOCK_TOKENS + 1, Some(0), None);
    assert!(log.sample(5_000, Some(0), None).unwrap().broken.is_some());
}
