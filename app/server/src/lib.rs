#![doc = include_str!("../README.md")]

mod access;
mod agui;
mod api;
mod app;
mod caller;
mod client_tools;
mod guard;
mod in_process;
mod json;
mod limits;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod object;
mod page;
mod problem;
mod store_health;
mod stream;
mod tenant;

pub use access::{Access, Grant, Quota, Right, Rights, TokenHash, new_token};
pub use app::{Server, ServerParts};
pub use client_tools::ClientTool;
pub use limits::ServerLimits;
pub use tenant::{
    ModelList, OfferedModel, Refusal, ServedSessions, SessionOptions, SettingsChange, Tenant,
    TenantFactory,
};
pub use windlass_engine;
