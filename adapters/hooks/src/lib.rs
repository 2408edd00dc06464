#![doc = include_str!("../README.md")]

mod alias;
mod denial;
mod error;
mod event;
mod file;
#[doc(hidden)]
pub mod fuzzing;
mod hooks;
mod matcher;
mod process;
mod question;
mod redact;
mod roster;
mod spelling;
mod verdict;

pub use alias::{FieldAlias, FieldKind, ToolAlias};
pub use error::LoadError;
pub use hooks::CommandHooks;
pub use redact::RegexRedactor;
