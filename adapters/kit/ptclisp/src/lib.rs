//! PTC-Lisp: the language in which a model writes a program that calls tools.
//!
//! A program is [prepared](Program::prepare): read and checked, so that one with an unknown name or tool
//! has no effect at all. It is [started](Program::start) and runs until it calls tools, which is its
//! only way out, or ends. It goes on with what the tools [answered](LispRun::resume). The same program with
//! the same inputs, session, limits and answers takes the same steps and makes the same calls, so that a
//! run that was lost is made again from its start with the answers that were recorded.
//!
//! Nothing here is ambient: no clock, no randomness, no file, no network. Every resource has a limit
//! ([`Limits`]), counted exactly, and every limit ends in a typed [`Fault`].
//!
//! The crate depends on no other crate of Windlass. A [`LispSession`] becomes [text](LispSession::to_text), with the
//! functions in it and the values that they close over.
//!
//! ```
//! use windlass_kit_ptclisp::{Inputs, Limits, LispSession, Program, RunEnd, RunStep, ToolAnswer, Value};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let inputs = Inputs {
//!     tools: std::sync::Arc::new(["price".into()].into()),
//!     ..Inputs::default()
//! };
//! let source = "(reduce + (pmap #(tool/price {:item %}) [\"tea\" \"cup\"]))";
//! let program = Program::prepare(source, &inputs, &LispSession::default(), &Limits::default())?;
//! let mut run = program.start(&LispSession::default());
//! let mut step = run.begin()?;
//! while let RunStep::Calls(calls) = &step {
//!     assert_eq!(calls.len(), 2);
//!     step = run.resume(vec![ToolAnswer::Value(4.into()); calls.len()])?;
//! }
//! let RunStep::Done(outcome) = step else { unreachable!() };
//! assert!(matches!(outcome.end, RunEnd::Value(value) if value == Value::from(8_i64)));
//! # Ok(())
//! # }
//! ```

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a function of the language takes some kinds of values and refuses all others"
)]
mod analyze;
mod callable;
mod code;
mod context;
mod fault;
mod flow;
mod form;
mod json;
mod keys;
mod library;
mod limits;
mod machine;
mod matcher;
mod order;
mod pattern;
mod print;
mod program;
mod read;
mod repair;
mod replay;
mod session;
mod session_text;
mod show;
pub mod signature;
mod sorted;
mod value;

pub use fault::{Fault, FaultClass, Position};
pub use json::{from_json, json_text, sorted, to_json};
pub use library::is_function;
pub use limits::{Limits, SIDE_BY_SIDE};
pub use program::{
    Inputs, LispRun, MisuseError, Program, RunEnd, RunOutcome, RunStep, ToolAnswer, ToolCall,
};
pub use read::TextRepair;
pub use replay::{RecordedCall, ReplayDivergence};
pub use session::LispSession;
pub use session_text::{SessionTextError, SessionTooLong, value_text};
pub use show::{part_count, readable, readable_head};
pub use signature::Signature;
pub use value::{Entries, Items, Members, Value};
