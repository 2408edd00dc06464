#![doc = include_str!("../README.md")]

mod capture;
mod command;
mod config;
mod confinement;
mod error;
mod fault;
mod files;
mod full_output;
#[doc(hidden)]
pub mod fuzzing;
mod ignore_rules;
mod lines;
mod live;
mod localfs;
mod open;
mod parallel;
mod patch;
mod planned;
mod process;
mod processes;
mod program_read;
mod replace;
mod report;
mod restore;
mod root;
mod schema;
mod shell;
mod stop;
mod text;
mod tools_file;
mod tree;
mod walk;

pub use command::CommandTools;
pub use config::LocalFsConfig;
pub use confinement::ToolSandbox;
pub use error::SetupError;
pub use localfs::LocalFs;
pub use restore::LocalFileRestorer;
pub use windlass_kit_process::{RecordedProcess, RunLocks};
