#![doc = include_str!("../README.md")]

mod answer;
pub mod clock;
mod gate;
pub mod http;
mod ledger;
pub mod provider;
pub mod store;
pub mod tools;
mod wait;

pub use answer::{Answer, MODEL, Part};
pub use gate::Gate;
pub use wait::within;
