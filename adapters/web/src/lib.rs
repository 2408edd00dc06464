#![doc = include_str!("../README.md")]

mod fetch;
mod page;
mod tags;
mod tools;
mod tree;

pub use tools::{WEB_FETCH_TOOL, WebTools};
