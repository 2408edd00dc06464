//! Arguments of `windlass skills`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// Arguments of `windlass skills`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SkillsArgs {
    /// Folder whose skills are listed [default: the current one].
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
}

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Compare skills with the specification of agentskills.io.
    Check {
        /// Folders of skills, or their SKILL.md files.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
}
