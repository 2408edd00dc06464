#![doc = include_str!("../README.md")]

mod ask;
mod call;
mod catalogue;
mod config;
mod connection;
mod deferred;
mod elicit;
mod era;
mod error;
mod excerpt;
mod expand;
mod file;
mod handler;
mod http;
mod images;
mod launch;
mod lines;
mod name;
#[cfg(feature = "oauth")]
mod oauth;
#[cfg(not(feature = "oauth"))]
#[path = "no_oauth.rs"]
mod oauth;
mod prompts;
mod record;
mod resources;
mod result;
mod run;
mod schema;
mod server;
mod state_file;
mod stderr;
mod suspended;
mod task;
mod tools;

pub use config::{
    LoginSettings, McpServer, McpTransport, ServerSandbox, ToolApproval, ToolOverride,
};
pub use deferred::parse_deferred_limit;
pub use error::McpError;
pub use expand::{ExpandError, expand};
pub use file::{
    LoginClientEntry, ServerEntry, ServerNames, ServerTable, parse_project, parse_toml,
};
pub use launch::NESTED;
pub use name::{ServerName, tool_name};
#[cfg(feature = "oauth")]
pub use oauth::{LoginFlow, LoopbackRedirect, Revocation, forget_login, logout};
pub use prompts::{PromptArgument, PromptText, ServerPrompt};
pub use record::McpRecord;
pub use resources::{LIST_RESOURCES_TOOL, READ_RESOURCE_TOOL};
pub use server::{LoginStatus, ServerReport, ServerState};
pub use windlass_kit_http::Secret;

pub use tools::{McpOptions, McpTools};
