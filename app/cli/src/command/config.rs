//! `windlass config`: the settings in force with their sources, and checks of the file.

use serde_json::json;
use windlass_engine::core::Price;

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
    let shape = args.shape.for_session(None);
    let provider = adapters.usual_provider(&shape);
    let named = shape.base_url.clone().or_else(|| adapters.environment_url(&provider));
    // No model is assumed at an address that is not the provider's own.
    let own = adapters.usual_model(&provider).filter(|_| named.is_none());
    let model = shape.model.clone().or(own);
    let mut keys = args.keys.clone();
    for key in keys.iter_mut().filter(|key| key.from.is_none()) {
        match key.key.as_str() {
            "provider" => key.default = Some(provider.clone()),
            "model" => key.default.clone_from(&model),
            _ => {}
        }
    }
    let listed = model.as_deref().filter(|_| shape.price.is_none());
    let listed = listed.and_then(|model| config::list_price(&provider, named.as_deref(), model));
    let terminal = config.map(|config| config.terminal().clone()).unwrap_or_default();
    let secrets = adapters.key_variables(&shape);
    match args.shape.json {
        true => print_json(
            &json!({
                "path": config::path()?,
                "keys": keys,
                "terminal": terminal,
                "secrets": secrets.iter().map(|(name, set)| json!({"variable": name, "set": set}))
                    .collect::<Vec<_>>(),
                "list_price": listed.map(|(price, as_of)| json!({"price": price, "as_of": as_of})),
                "fault": fault,
            })
            .to_string(),
        )
        .map_err(closed)?,
        false => {
            for line in keys.iter().filter_map(line) {
                print_line(&line).map_err(closed)?;
            }
            if let Some((price, as_of)) = listed {
                print_line(&price_line(&price, as_of)).map_err(closed)?;
            }
            let table = toml::to_string(&terminal).unwrap_or_default();
            print_line(&format!("\n[terminal]\n{}", table.trim_end())).map_err(closed)?;
            print_line("").map_err(closed)?;
            for (name, set) in secrets {
                let words = if set { "is set" } else { "is not set" };
                print_line(&format!("# {name} {words}")).map_err(closed)?;
            }
        }
    }
    Ok(fault.map_or(ExitKind::Completed, |_| ExitKind::Usage))
}

/// Returns the line of a price of the built-in list.
fn price_line(price: &Price, as_of: &str) -> String {
    let dollars = |micros: u64| {
        let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let prices = [price.input_micros, price.cached_input_micros, price.output_micros];
    let prices = prices.map(dollars).join(",");
    format!("{:<40} # list of {as_of}, in dollars", format!("# price: {prices}"))
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
