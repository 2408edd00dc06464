#![doc = include_str!("../README.md")]

mod answer;
mod chat;
mod error;
mod request;
mod responses;
mod script;
mod server;

pub use error::DemoError;
pub use server::DemoServer;
