#![doc = include_str!("../README.md")]

mod access;
mod agui;
mod answering;
mod api;
mod app;
mod bounds;
mod caller;
mod guard;
mod json;
mod listen;
mod object;
mod page;
mod problem;
mod stream;
mod tenant;

pub use access::{Access, Grant, Quota, Right, Rights, TokenHash, new_token};
pub use app::{Served, Server};
pub use bounds::Bounds;
pub use tenant::{House, Refusal, Tenant, Wish};
pub use windlass_engine;
