//! Scripts: what happens in a simulated world, step by step, as data.

use std::fmt;

use windlass_core::{
    BudgetUsage, Delivery, FailureKind, Goal, HookVerdict, Image, ImageMedia, InterruptSource,
    Limits, ObservationStatus, Retry, StopReason, StopTiming, Widening,
};

use super::posture::Posture;
use super::programs::ProgramWord;

/// What happens in a simulated world.
///
/// A script is text too, one step a line; what [`fmt::Display`] writes, [`str::parse`] reads. A
/// failing property prints its smallest script in this form.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// How the world begins.
    pub opening: Opening,
    /// What happens then.
    pub steps: Vec<Step>,
}

/// How a simulated world begins: `open [lazy] [child] [workspace=DIR] [seed=N] [mode=..]
/// [hooks=..] [rules=..] [window=N] [strategy=..] [price=..] [shape=RETRIES] [agent=SAMPLES] [wakes=true]
/// [program=CALLS] [corrections=N] [LIMIT=N] [ceiling.LIMIT=N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The settings of the session.
    pub posture: Posture,
    /// What the process allows at most.
    pub ceiling: Limits,
    /// Where the entropy of its inputs comes from; with 0 it is always 0.
    pub seed: u64,
    /// When facts become durable.
    pub durability: Durability,
    /// Where the session comes from.
    pub kin: Kin,
    /// The folder that the tools work in.
    pub workspace: Option<String>,
}

/// When the facts of a simulated log become durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After each step.
    Prompt,
    /// Only when the script says so.
    Lazy,
}

/// Where a simulated session comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    /// It was opened again.
    Root,
    /// A turn of another session started it.
    Child,
}

/// One thing that happens. A step that has no meaning where the world stands does nothing. Of
/// several that a step may mean, `N` says which one, counted from 0 and around.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a few for each world")]
pub enum Step {
    /// `send|steer|followup [turn=N] [key=K] [dry] [ctx=NAME:WORD].. [images=N] TEXT`: a user says
    /// something.
    Send {
        /// When it is meant to be heard.
        delivery: Delivery,
        /// The turn that it is meant for.
        turn: Option<u64>,
        /// The user's own key.
        key: Option<String>,
        /// True if the turn is a dry run.
        dry_run: bool,
        /// What the presenter tells the model in addition: names and texts.
        context: Vec<(String, String)>,
        /// How many images are shown with it: the first ones of [`picture`].
        images: u32,
        /// What is said.
        text: String,
    },
    /// `goal turns=N TEXT`, `goal none`: a user gives the session a goal, or takes it away.
    Goal(Option<Goal>),
    /// `continue`: a user asks to go on.
    Continue,
    /// `compact [FOCUS]`: a user asks to compact the conversation.
    Compact(String),
    /// `command TOOL JSON`: a user makes a call.
    Command {
        /// Name of the tool.
        tool: String,
        /// Arguments as JSON text.
        arguments: String,
    },
    /// `edit N TEXT`: a user replaces the text of an input that waits, or of the latest input if none
    /// does.
    Edit {
        /// Which one.
        nth: usize,
        /// What it says now.
        text: String,
    },
    /// `move N [before=N]`: a user moves an input that waits before another one, or to the end.
    Move {
        /// Which one.
        nth: usize,
        /// Which one it is to precede.
        before: Option<usize>,
    },
    /// `withdraw N`: a user withdraws an input that waits, or the latest input if none does.
    Withdraw(usize),
    /// `rename WORDS`: a user names the session; without words, its name is removed.
    Rename(String),
    /// `rewind N`: a user returns to the conversation of this position.
    Rewind(u64),
    /// `restored TURN PATH`: a user took back what a turn changed in a file.
    Restored {
        /// The turn.
        of: u64,
        /// The file.
        path: String,
    },
    /// `ceiling [mode=..] [permissions=..] [rules=..]`: the process permits at most this from now on.
    Ceiling(Box<Posture>),
    /// `interrupt WHO [after] [turn=N]`: somebody asks the turn to stop, now or after its step.
    Interrupt {
        /// Who asks.
        by: InterruptSource,
        /// When it is to stop.
        when: StopTiming,
        /// The turn that is meant.
        turn: Option<u64>,
    },
    /// `configure [meant] [mode=..] [permissions=..] [LIMIT=N] ..`: a user changes the settings.
    Configure {
        /// The new settings.
        posture: Posture,
        /// True if they may allow more than those before them.
        widening: Widening,
    },
    /// `keyed KEY STEP`: what a user says in a step is said under a key. A step in which nobody says
    /// anything has no key.
    Keyed {
        /// The key.
        key: String,
        /// What is said.
        step: Box<Self>,
    },
    /// `close`: the process lets the session go once it is at rest.
    Close,
    /// `wait MS`: time passes, and a tick comes.
    Wait(u64),
    /// `back MS`: the clock jumps back.
    Back(u64),
    /// `text TEXT`: the sample that runs brings a text.
    Text(String),
    /// `refusal TEXT`: it brings a refusal.
    Refusal(String),
    /// `reasoning TEXT`: it brings reasoning.
    Reasoning(String),
    /// `call TOOL [id=ID] [fault=WORD] [ARGUMENTS]`: it brings a call.
    Call {
        /// The tool's name.
        tool: String,
        /// The provider's id of the call.
        id: String,
        /// Why its arguments cannot be used.
        fault: Option<String>,
        /// Its arguments.
        arguments: String,
    },
    /// `end REASON [tokens=N] [out=N] [fault=WORD]`: it ends.
    End {
        /// Why it ends.
        stop: StopReason,
        /// What it cost, where the provider says so.
        cost: Cost,
        /// Why its text does not have the shape that is asked for.
        fault: Option<String>,
    },
    /// `fail KIND RETRY [tokens=N] [out=N] [PARTIAL]`: it fails.
    Fail {
        /// How.
        kind: FailureKind,
        /// True if to ask again.
        retry: Retry,
        /// What it cost, where the provider says so.
        cost: Cost,
        /// Text that had streamed.
        partial: String,
    },
    /// `yielded [PARTIAL]`: it stops because the user spoke; only where it was told to.
    Yielded(String),
    /// `STATUS N [took=SAMPLES/TOKENS/MONEY] [OUTPUT]`, for example `done 0 ok`: of the calls that run,
    /// this one ends.
    Finish {
        /// How it ends.
        status: ObservationStatus,
        /// Which one.
        nth: usize,
        /// What it took, where it is an agent that says so.
        took: Option<BudgetUsage>,
        /// What it says.
        output: String,
    },
    /// `suspend N [asks] [repeatable]`: of the calls that run, this one goes on in another run, once it
    /// has an answer or at once.
    Suspend {
        /// Which one.
        nth: usize,
        /// True if it asks a person.
        asks: bool,
        /// True if the run that goes on may be repeated.
        repeatable: bool,
    },
    /// `detach N [OUTPUT]`: of the calls that run, the agent of this one goes on by itself.
    Detach {
        /// Which one.
        nth: usize,
        /// What the call says.
        output: String,
    },
    /// `ended N [TEXT]`: of the agents that go on by themselves, this one ends; of none, the latest
    /// that did.
    ChildEnded {
        /// Which one.
        nth: usize,
        /// What the session is told.
        text: String,
    },
    /// `spoken SOURCE`: the sample that runs brings a program that stood in its text.
    Spoken(String),
    /// `program N calls TOOL ARGUMENTS [& TOOL ARGUMENTS]..`, `program N value|return|fail|fault
    /// [fault=WORD] [keeps=WORD] VALUE`: of the programs that are to go on, this one does.
    Program {
        /// Which one.
        nth: usize,
        /// What it says.
        word: ProgramWord,
    },
    /// `hook N VERDICT [edit=WORD] [context=WORD] [REASON]`: of the hooks that are asked, this one
    /// answers.
    Hook {
        /// Which one.
        nth: usize,
        /// What it says.
        verdict: HookVerdict,
        /// What it puts in the place of the prompt or the arguments.
        edit: Option<String>,
        /// What the model is to know in addition.
        context: Option<String>,
        /// Why.
        reason: String,
    },
    /// `answer N [about=WORD] allow [edit=WORD]`, `answer N [about=WORD] deny [REASON]`: somebody
    /// answers an open question about a call, or, without one, about a call that nobody asks about.
    Answer {
        /// Which one.
        nth: usize,
        /// Other arguments that the answer is about.
        about: Option<String>,
        /// The answer.
        word: Word,
    },
    /// `asked N allow [edit=WORD]`, `asked N deny [REASON]`, `asked N nobody`: the approver answers
    /// the question that it was asked, or cannot ask anybody.
    Asked {
        /// Which one.
        nth: usize,
        /// The answer; `None` when nobody could be asked.
        word: Option<Word>,
    },
    /// `reconciled N STATUS [OUTPUT]`, `reconciled N none`: a tool says what became of a call.
    Reconciled {
        /// Which one.
        nth: usize,
        /// What became of it; `None` when it does not know.
        status: Option<ObservationStatus>,
        /// What the tool says.
        output: String,
    },
    /// `submit N STATUS [OUTPUT]`: of the calls whose clients are to return results, this one gets its
    /// own; of none, the latest call that started.
    Submit {
        /// Which one.
        nth: usize,
        /// How it ended.
        status: ObservationStatus,
        /// What it says.
        output: String,
    },
    /// `compacted [SUMMARY]`, `compacted after N [SUMMARY]`, `compacted idle`, `compacted fail`:
    /// the compaction that runs ends.
    Compacted(Compacted),
    /// `late N`: a run that has ended answers again.
    Late(usize),
    /// `never N`: of the effects that are owed and have not begun, this one never will.
    Never(usize),
    /// `sync`: all facts become durable.
    Sync,
    /// `crash [lose=N] [away=MS]`: the process dies, up to this many facts that are not durable
    /// are lost, and some time later a new process takes over.
    Crash {
        /// How many facts are lost.
        lose: usize,
        /// Until a new process takes over.
        away_ms: u64,
    },
}

/// What a sample cost, as far as the provider says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Tokens of the request.
    pub tokens: Option<u64>,
    /// Tokens of the answer.
    pub out: Option<u64>,
}

/// A person's word on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It may run.
    Allow {
        /// With these arguments instead.
        edit: Option<String>,
    },
    /// It may not run.
    Deny {
        /// Why.
        reason: String,
    },
}

/// How a compaction ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compacted {
    /// As asked; with this summary where one is wanted, or else with a plain list.
    Sketched(String),
    /// The same, with a usage, after this many requests whose usage nobody reported.
    After(u32, String),
    /// Nothing leaves.
    Idle,
    /// It fails.
    Fails,
}

/// The image of this number that users of the world show.
#[must_use]
pub fn picture(number: u32) -> Image {
    Image { media: ImageMedia::Png, sha256: format!("{number:064x}"), bytes: 70 }
}

impl Step {
    /// A user says something, in a turn of its own.
    #[must_use]
    pub fn send(text: &str) -> Self {
        Self::Send {
            delivery: Delivery::Turn,
            turn: None,
            key: None,
            dry_run: false,
            context: Vec::new(),
            images: 0,
            text: text.to_owned(),
        }
    }

    /// Returns true if it is something that a user says, so that it may be said under a key.
    #[must_use]
    pub fn is_said(&self) -> bool {
        matches!(
            self,
            Self::Send { .. }
                | Self::Edit { .. }
                | Self::Move { .. }
                | Self::Withdraw(_)
                | Self::Rename(_)
                | Self::Rewind(_)
                | Self::Restored { .. }
                | Self::Goal(_)
                | Self::Continue
                | Self::Compact(_)
                | Self::Command { .. }
                | Self::Interrupt { .. }
                | Self::Configure { .. }
                | Self::Answer { .. }
                | Self::Submit { .. }
        )
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            posture: Posture::default(),
            ceiling: Limits::default(),
            seed: 0,
            durability: Durability::Prompt,
            kin: Kin::Root,
            workspace: None,
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

/// Returns the words of a step, if it has some.
pub(super) fn words(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
