//! The turn machine of Windlass, as data transitions.
//!
//! A *turn* is one cycle from a user's input to a settled outcome. This crate holds what is
//! true of turns and nothing else: which facts there are, which facts an input leads to
//! ([`decide`]), what a fact does to the state ([`evolve`]), what the world owes a state
//! ([`owed`]), when to look again ([`deadline`]), and what the model may see ([`History`],
//! [`render`]).
//!
//! Absent on purpose: I/O, async, threads, clocks, randomness, hash maps. Time and entropy come
//! in with the inputs, ids are log positions. The crate is `no_std`, so the compiler refuses
//! most of these.

#![no_std]

extern crate alloc;

mod assemble;
mod because;
mod call;
mod chain;
mod context;
mod deadline;
mod decide;
mod digest;
mod effect;
mod error;
mod evolve;
mod fact;
mod failure;
mod history;
mod id;
mod input;
mod item;
mod limits;
mod nonempty;
mod outcome;
mod owed;
mod record;
mod render;
mod scope;
mod session;
mod settings;
mod stream;
mod time;
mod usage;

pub use assemble::{Assembled, Assembler, Caps, Overflow};
pub use because::Because;
pub use call::{Observation, ObservationStatus, Verdict};
pub use chain::{Chain, ChainIter};
pub use deadline::deadline;
pub use decide::{decide, open};
pub use digest::Digest;
pub use effect::{Demand, EffectKey, Owed};
pub use error::{Misfit, Reject};
pub use evolve::{evolve, opened};
pub use fact::{
    CallDecided, CallObserved, CallStarted, Decider, Fact, InputAccepted, InputQueued,
    InterruptRequested, ItemAdded, Lineage, SampleCut, SampleEnded, SampleStarted, SessionOpened,
    SettingsChanged, TurnOpened, TurnSettled,
};
pub use failure::{FailureKind, Retry, SampleFailure};
pub use history::History;
pub use id::{CallId, Epoch, InputId, InvalidSessionId, Seq, SessionId, TurnId};
pub use input::{Input, OpenSession, SampleNews, Stamped};
pub use item::{CallItem, Item, Opaque, ReasoningItem, StopReason};
pub use limits::Limits;
pub use nonempty::NonEmpty;
pub use outcome::{Interrupter, LimitKind, Outcome};
pub use owed::owed;
pub use record::{DecodeKind, Draft, FACT_VERSION, Recorded};
pub use render::{Prompt, PromptItem, render};
pub use scope::Scope;
pub use session::{
    Backoff, CallState, Concluding, Delivery, Executing, Fitness, Hold, Phase, Progress, Queued,
    Ready, Said, Sampling, Session, Spent, Stage, Stop, Turn,
};
pub use settings::{Concurrency, EffectClass, Mode, Permissions, Settings, ToolSpec};
pub use stream::{Delta, StreamEvent};
pub use time::Timestamp;
pub use usage::Usage;
