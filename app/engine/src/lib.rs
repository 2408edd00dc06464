#![doc = include_str!("../README.md")]

/// The examples of the guide are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
mod guide {}

mod access;
mod agents;
mod append_batcher;
mod approvals;
mod arguments;
mod background;
mod blob_names;
mod bus;
mod capacity;
mod changes;
mod checkpoint;
mod child_results;
mod child_sessions;
mod client_tools;
mod config;
mod copy;
mod detached_children;
mod driver;
mod effect;
mod engine;
mod error;
mod event;
mod followed_child;
mod follower;
mod fork;
mod grants;
mod hub;
mod images;
mod json_schema;
mod live;
mod live_check;
mod live_state;
mod load;
mod lookup;
mod offline;
mod output;
mod output_schema;
mod outside;
mod peers;
mod prefix;
mod program;
mod published;
mod queue;
mod recovered;
mod replay;
mod report;
mod rewind;
mod rules;
mod session;
mod slot;
mod store_watch;
mod stream;
mod tool_search;
mod toolbox;
mod undo;

pub use agents::agent_session;
pub use append_batcher::AppendBatcher;
pub use approvals::{PendingApproval, pending};
pub use arguments::check_parameters;
pub use changes::{ChangesDiff, FileDiff, MAX_DIFF_BYTES, diff_changes, read_changes};
pub use checkpoint::{CheckpointAudit, audit, verify_logs};
pub use child_sessions::{
    ChildSession, ChildSessions, child_session, child_sessions, unfinished_children,
};
pub use client_tools::{AwaitedCall, awaited_calls};
pub use config::Config;
pub use copy::{CopyError, CopyReport, CopyTarget, copy};
pub use engine::{
    AdoptionPolicy, Engine, EraseError, HandOff, RecoveryReport, RetentionReport, Start,
};
pub use error::{AwaitError, DriverEnd, SendError, StartError};
pub use event::{Event, LiveEvent, LiveKind};
pub use fork::{ForkError, ForkReport, ForkRequest, fork};
pub use live_check::LiveCheck;
pub use load::{Loaded, fold, load, load_at};
pub use lookup::SessionInfo;
pub use offline::ChangeError;
pub use output_schema::strip_fence;
pub use peers::{NodeLoad, Peers};
pub use prefix::PrefixReport;
pub use program::{ComputeSlots, EngineFault};
pub use published::{LiveBatch, PublishedFact};
pub use queue::{
    ChangeRequest, InputChange, InputQueue, WaitingInput, change_input, waiting_inputs,
};
pub use recovered::{RecoveredCall, RecoveredCalls};
pub use replay::replay;
pub use report::{TurnFold, TurnReport};
pub use rewind::{RewindError, RewindReport, RewindRequest, RewindTarget, rewind};
pub use session::{AwaitedTurn, NewInput, SessionCommand, SessionHandle, TurnStream, UserInput};
pub use store_watch::StoreStatus;
pub use stream::EventStream;
pub use toolbox::{Toolbox, ToolboxError};
pub use undo::{UndoError, UndoReport, UndoRequest, undo};

pub use windlass_core as core;
pub use windlass_ports as ports;
