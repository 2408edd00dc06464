//! MCP: sessions as tools for clients of that protocol. See
//! <https://modelcontextprotocol.io/specification>.
//!
//! Nothing is kept for a client: sessions, turns and questions are in the log, tasks are turns, and
//! the transport over HTTP has no sessions of its own.

mod answer;
mod call;
mod elicit;
mod handler;
mod http;
mod progress;
mod report;
mod stdio;
mod task;
mod tools;
mod wait;
mod work;

pub(crate) use self::http::routes;
