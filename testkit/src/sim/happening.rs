//! Happenings: what a simulation counts, so that a run can say what it covered and what it did not.

use std::collections::BTreeMap;

use windlass_core::FailureKind;

macro_rules! happenings {
    ($($(#[$doc:meta])* $name:ident: $words:literal),* $(,)?) => {
        /// Something that a simulation counts. Each must occur in a large run.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Happening {
            $(
                #[doc = $words]
                $name,
            )*
        }

        impl Happening {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What is counted, in words.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }
        }
    };
}

happenings! {
    Session: "sessions",
    Driver: "drivers",
    Fact: "facts in the logs",
    Append: "appends that were sent",
    Acknowledged: "appends that were acknowledged",
    Late: "of these, after other inputs had come",
    Settled: "turns that settled",
    Heard: "inputs that were acknowledged and heard",
    Effect: "effects that began",
    Changed: "of these, runs of tools that change something",
    Rejected: "inputs that were rejected",
    WriteFails: "writes that failed (EIO)",
    DiskFull: "writes that found the disk full (ENOSPC)",
    SyncFails: "syncs that failed (EIO)",
    NthCallFails: "store calls that failed because their number said so",
    ReadFails: "reads that failed (EIO)",
    ClaimFails: "claims that failed (EIO)",
    ReleaseFails: "releases that failed",
    AckLost: "acknowledgements that were lost",
    AckTwice: "acknowledgements that came twice",
    AppendTwice: "appends that were delivered twice",
    AppendTwiceRefused: "of these, refused the second time",
    Takeover: "sessions that a second process claimed",
    Superseded: "drivers that stopped because they were superseded",
    StoreEnded: "drivers that stopped because the store failed",
    Killed: "processes that were killed",
    KilledInAppend: "appends that a kill tore",
    KilledInSync: "appends that a kill caught before their sync",
    PowerLost: "losses of power",
    PowerLostDirty: "of these, with bytes that were not synced",
    PowerLostInRecovery: "losses of power during a recovery",
    LeftAll: "crash images with all that was not synced",
    LeftNone: "crash images without any of it",
    LeftStart: "crash images with the beginning of it",
    LeftSectors: "crash images with some sectors of it",
    LeftBytes: "crash images with some bytes of it",
    TailCut: "torn tails that were cut off",
    KeptUnknown: "appends that were kept though nobody had been told",
    ClockForward: "clocks that jumped forward",
    ClockBack: "clocks that jumped back",
    Ticked: "ticks at a deadline",
    TickedEarly: "ticks without a cause",
    Endless: "answers of a model without an end",
    Silent: "models that never answered",
    SampleFails: "samples that failed",
    CallIdTwice: "call ids that came twice",
    UnknownTool: "calls of unknown tools",
    BrokenArguments: "calls with broken arguments",
    LateAnswer: "answers that came late",
    AnswerTwice: "answers that came twice",
    StaleAnswer: "answers to runs of processes that are gone",
    ToolNever: "tools that never finished",
    ToolOvertakes: "tools that overtook an earlier call",
    ProgramCalls: "programs that made calls",
    ProgramEnds: "programs that ended",
    AgentLent: "agents that were lent a budget",
    AgentReturns: "of these, ones that said what they took",
    Reconciled: "tools that were asked what became of a call",
    HookSpeaks: "hooks that spoke",
    HookNever: "hooks that never spoke",
    Approved: "questions that the approver answered",
    Answered: "questions that a person answered",
    Compacted: "compactions that ended",
    Sent: "inputs for a turn of their own",
    Steered: "steers",
    FollowedUp: "follow-ups",
    SentAgain: "inputs that were sent again under their key",
    SentTwice: "of these, known already",
    Interrupted: "interrupts",
    Configured: "changes of settings",
    GoalSet: "goals that were set or taken away",
    Continued: "requests to go on",
    Closed: "sessions that were let go",
    HandOff: "hand-offs that were asked for",
    HandedOff: "sessions that were handed off once every effect had ended",
    HandedOffInTime: "sessions that were handed off as the time was up",
    Checkpoint: "checkpoints that were written",
    CheckpointUsed: "sessions that were taken up from a checkpoint",
    Watched: "reads of a log without a claim",
}

/// What a run covered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Covered {
    counts: BTreeMap<Happening, u64>,
    /// How samples failed.
    failures: BTreeMap<FailureKind, u64>,
}

impl Covered {
    pub(super) fn note(&mut self, happening: Happening) {
        self.count(happening, 1);
    }

    pub(super) fn count(&mut self, happening: Happening, times: u64) {
        *self.counts.entry(happening).or_default() += times;
    }

    pub(super) fn failed(&mut self, kind: FailureKind) {
        self.note(Happening::SampleFails);
        *self.failures.entry(kind).or_default() += 1;
    }

    /// How often something happened.
    #[must_use]
    pub fn times(&self, happening: Happening) -> u64 {
        self.counts.get(&happening).copied().unwrap_or(0)
    }

    /// How samples failed, and how often.
    #[must_use]
    pub fn failures(&self) -> &BTreeMap<FailureKind, u64> {
        &self.failures
    }

    /// What has never happened, in words.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let happenings = Happening::ALL.iter().filter(|one| self.times(**one) == 0);
        let happenings = happenings.map(|one| one.words().to_owned());
        let kinds = crate::world::random::FAILURES.iter();
        let kinds = kinds.filter(|kind| !self.failures.contains_key(kind));
        let kinds = kinds.map(|kind| format!("samples that failed as {kind:?}"));
        happenings.chain(kinds).collect()
    }

    /// Adds what another run covered.
    pub fn add(&mut self, other: &Self) {
        for (happening, times) in &other.counts {
            self.count(*happening, *times);
        }
        for (kind, times) in &other.failures {
            *self.failures.entry(*kind).or_default() += times;
        }
    }
}
