//! A log builder, for tests of folds over logs.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{TurnSnapshot, TurnSnapshots};
use crate::call::{Observation, ObservationStatus};
use crate::compact::kit;
use crate::digest::Digest;
use crate::fact::{
    CallObserved, Fact, ItemAdded, Lineage, ProgramCalled, Reservation, Retained, SampleCut,
    SampleEnded, SampleStarted, SessionOpened,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::format::FactFormat;
use crate::id::{CallId, InputId, Seq, SessionId, TurnId};
use crate::item::{CallItem, Item, StopReason};
use crate::limits::Limits;
use crate::options::RequestOptions;
use crate::program::{ProgramLimits, ProgramMode, ProgramTransport, SampleKind};
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::usage::Usage;
use crate::view::View;

pub(crate) const TURN: TurnId = TurnId(1);

/// A growing log, with its fold.
#[derive(Default)]
pub(crate) struct LogBuilder {
    pub(crate) fold: TurnSnapshots,
    pub(crate) view: View,
    seq: u64,
    sample: u32,
    pub(crate) made: Vec<TurnSnapshot>,
}

impl LogBuilder {
    /// Creates a log of a session with or without program mode.
    pub(crate) fn new(programs: bool) -> Self {
        let mut log = Self::default();
        let options = RequestOptions {
            program: programs.then(|| ProgramMode {
                runtime: String::from("toy"),
                transport: ProgramTransport::Call,
                limits: ProgramLimits::default(),
                data: None,
                corrections: 0,
            }),
            ..RequestOptions::default()
        };
        log.fact(Fact::SessionOpened(SessionOpened {
            owner: Arc::new(Scope::local("ada")),
            workspace: None,
            settings: Arc::new(Settings { options, ..kit::settings() }),
            lineage: Lineage::Root,
        }));
        log.fact(Fact::TurnOpened(crate::fact::TurnOpened {
            reason: Reason::Input { input: InputId(0) },
            scope: Arc::new(Scope::local("ada")),
            settings: Seq(1),
            limits: Limits::default(),
            dry_run: false,
            key: None,
        }));
        log
    }

    pub(crate) fn fact(&mut self, fact: Fact) -> Seq {
        self.seq += 1;
        let recorded = RecordedFact {
            format: FactFormat::CURRENT,
            session: SessionId::new("s").unwrap(),
            seq: Seq(self.seq),
            turn: Some(TURN),
            ts: Timestamp(self.seq * 10),
            cause: None,
            fact,
        };
        self.view.apply(&recorded);
        self.made.extend(self.fold.apply(&recorded).unwrap());
        Seq(self.seq)
    }

    pub(crate) fn start(&mut self, attempt: u32, because: Reason) -> Seq {
        self.sample += u32::from(attempt == 1);
        self.fact(Fact::SampleStarted(SampleStarted {
            sample: self.sample,
            attempt,
            reason: because,
            digest: Digest::EMPTY,
            reserved: Reservation::default(),
            output_bound: None,
            kind: SampleKind::Normal,
        }))
    }

    pub(crate) fn text(&mut self, started: Seq, text: &str) -> Seq {
        let item = Item::text(text);
        self.fact(Fact::ItemAdded(ItemAdded { started, item, surplus: false }))
    }

    pub(crate) fn call(&mut self, started: Seq, name: &str, arguments: &str) -> CallId {
        let item = Item::Call(item(name, arguments));
        CallId(self.fact(Fact::ItemAdded(ItemAdded { started, item, surplus: false })).0)
    }

    pub(crate) fn calls(&mut self, program: CallId, name: &str) -> CallId {
        let item = item(name, "{}");
        let fact = Fact::ProgramCalled(ProgramCalled { program, item });
        CallId(self.fact(fact).0)
    }

    pub(crate) fn end(&mut self, started: Seq, stop: StopReason, fault: Option<&str>) {
        self.fact(Fact::SampleEnded(SampleEnded {
            started,
            stop,
            usage: Some(Usage { input: Some(10), ..Usage::default() }),
            estimate: None,
            response_id: None,
            request: None,
            fault: fault.map(String::from),
        }));
    }

    pub(crate) fn cut(&mut self, started: Seq, kind: FailureKind, stands: Retained, again: bool) {
        self.fact(Fact::SampleCut(SampleCut {
            started,
            failure: SampleFailure::new(kind, Retry::Never, "it broke"),
            partial: String::from(" and on"),
            retained: stands,
            stopped_by: None,
            usage: None,
            estimate: None,
            retry_at: again.then_some(Timestamp(0)),
            request: None,
        }));
    }

    pub(crate) fn observe(&mut self, call: CallId, status: ObservationStatus, output: &str) {
        let observation = Arc::new(Observation::new(status, output));
        self.fact(Fact::CallObserved(CallObserved {
            call,
            observation,
            usage: None,
            report: None,
            form: None,
            detached: false,
            by: None,
            key: None,
        }));
    }
}

fn item(name: &str, arguments: &str) -> Arc<CallItem> {
    Arc::new(CallItem {
        provider_id: String::new(),
        name: name.into(),
        arguments: arguments.into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    })
}
