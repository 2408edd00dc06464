//! `windlass config`: the settings in force with their sources, and checks of the file.

use serde_json::json;

use super::closed;
use crate::args::{ConfigArgs, ConfigCommand};
use crate::config::{self, Config, KeyInForce};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_json, print_line};
use crate::wiring::Adapters;

pub(super) fn config(args: ConfigArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    match args.command {
        Some(ConfigCommand::Path) => {
            print_line(&config::path()?.display().to_string()).map_err(closed)?;
            Ok(ExitKind::Completed)
        }
        Some(ConfigCommand::Check) => check(),
        None => show(&args, adapters),
    }
}

/// Reports every problem of the file.
fn check() -> Result<ExitKind, Failure> {
    let problems = config::problems()?;
    for problem in &problems {
        print_error(problem);
    }
    match problems.is_empty() {
        true => {
            Config::load(None)?;
            let words = format!("{} is valid", config::path()?.display());
            print_line(&words).map_err(closed)?;
            Ok(ExitKind::Completed)
        }
        false => Ok(ExitKind::Usage),
    }
}

/// Prints the settings in force.
fn show(args: &ConfigArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let fault = args.place.config_fault.as_ref();
    if let Some(fault) = fault {
        print_error(&format!("{fault}; the values below are without it"));
    }
    let config = match fault {
        None => Config::load(args.place.config_profile.as_deref())?,
        Some(_) => None,
    };
    let terminal = config.map(|config| config.terminal().clone()).unwrap_or_default();
    let keys = adapters.key_variables(&args.shape.for_session(None));
    match args.shape.json {
        true => print_json(
            &json!({
                "path": config::path()?,
                "keys": args.keys,
                "terminal": terminal,
                "secrets": keys.iter().map(|(name, set)| json!({"variable": name, "set": set}))
                    .collect::<Vec<_>>(),
                "fault": fault,
            })
            .to_string(),
        )
        .map_err(closed)?,
        false => {
            for line in args.keys.iter().filter_map(line) {
                print_line(&line).map_err(closed)?;
            }
            let table = toml::to_string(&terminal).unwrap_or_default();
            print_line(&format!("\n[terminal]\n{}", table.trim_end())).map_err(closed)?;
            print_line("").map_err(closed)?;
            for (name, set) in keys {
                let words = if set { "is set" } else { "is not set" };
                print_line(&format!("# {name} {words}")).map_err(closed)?;
            }
        }
    }
    Ok(fault.map_or(ExitKind::Completed, |_| ExitKind::Usage))
}

/// Returns the line of a key; `None` if nothing names it and it has no constant default.
fn line(key: &KeyInForce) -> Option<String> {
    let name = &key.key;
    match (key.written(), &key.from, &key.default) {
        (Some(value), Some(from), _) => {
            Some(format!("{:<40} # {from}", format!("{name} = {value}")))
        }
        (_, _, Some(default)) => Some(format!("{:<40} # default", format!("# {name}: {default}"))),
        (_, _, None) => None,
    }
}
