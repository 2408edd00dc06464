//! `windlass completions` and `windlass man`: what shells and `man` read of the commands.

use std::io;
use std::path::Path;

use super::closed;
use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;
use crate::wiring::Adapters;

/// Name of the program.
const NAME: &str = "windlass";

/// Prints the completions for a shell.
pub(super) fn completions(
    args: &CompletionsArgs,
    adapters: &Adapters,
) -> Result<ExitKind, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::described(adapters), NAME, &mut text);
    print(&text)
}

/// Prints the page of the program, or writes the pages of all commands into a folder.
pub(super) fn man(args: &ManArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let command = Args::described(adapters);
    let Some(folder) = &args.folder else {
        let mut text = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut text);
        rendered.map_err(closed)?;
        return print(&text);
    };
    write(command, folder).map_err(|error| {
        Failure::new(
            ExitKind::Failed,
            format!("cannot write the pages of the manual to {}: {error}", folder.display()),
        )
    })?;
    print_notice(&format!("the pages of the manual are in {}", folder.display()));
    Ok(ExitKind::Completed)
}

fn write(command: clap::Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)
}

fn print(text: &[u8]) -> Result<ExitKind, Failure> {
    io::Write::write_all(&mut io::stdout(), text).map_err(closed)?;
    Ok(ExitKind::Completed)
}
