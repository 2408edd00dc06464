#![doc = include_str!("../README.md")]

/// The examples of the guide are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
mod guide {}

mod agents;
mod approvals;
mod arguments;
mod beside;
mod bus;
mod config;
mod copy;
mod driver;
mod effect;
mod engine;
mod error;
mod event;
mod follower;
mod fork;
mod hub;
mod images;
mod live;
mod load;
mod look;
mod orphans;
mod parts;
mod peers;
mod prefix;
mod program;
mod published;
mod replay;
mod report;
mod rules;
mod sent_out;
mod session;
mod shape;
mod shown;
mod size;
mod slot;
mod snapshot;
mod stream;
mod toolbox;

pub use agents::agent_session;
pub use approvals::{PendingApproval, pending};
pub use beside::named;
pub use config::Config;
pub use copy::{Copied, CopyError, Keeper, copy};
pub use engine::{Engine, HandOff, Recovered, Start, Takeover};
pub use error::{AwaitError, Ended, SendError, StartError};
pub use event::{Event, Live, LiveKind};
pub use fork::{ForkAt, ForkError, Forked, fork};
pub use load::{Loaded, fold, load};
pub use look::SessionInfo;
pub use parts::Parts;
pub use peers::{Load, Peers};
pub use prefix::PrefixReport;
pub use program::EngineFault;
pub use published::{LiveBatch, Published};
pub use replay::replay;
pub use report::{TurnFold, TurnReport};
pub use sent_out::{Agents, SentOut, agent_of, agents_of, unfinished_agents};
pub use session::{Awaited, Send, SessionCommand, SessionHandle, TurnStream, UserInput};
pub use shape::unfenced;
pub use snapshot::{Audited, audit};
pub use stream::EventStream;
pub use toolbox::{Toolbox, ToolboxError};

pub use windlass_core as core;
pub use windlass_ports as ports;
