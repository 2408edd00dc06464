//! Runs a case of a suite over one seeded defect, in a process of its own: the module of the defect and the
//! case on the command line. Ends with 1 and the words of the case if that finds the defect.

#![allow(dead_code, unused, clippy::all, reason = "the defects leave what they leave")]

#[path = "../../tests/fixtures/mod.rs"]
mod fixtures;

/*MODULES*/

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use fixtures::{Desk, Place, own};
use windlass::http::http_wire;
use windlass_ports::{LogStore, Provider};
use windlass_testkit::provider::suite::{CASES as PROVIDER_CASES, Endpoint};
use windlass_testkit::store::{CASES as STORE_CASES, Checked};

type Open = fn(&Path) -> Arc<dyn LogStore>;
type Make = fn(&Endpoint) -> Arc<dyn Provider>;

/// Longest wait of a case for what must come soon.
const PATIENCE: Duration = Duration::from_secs(2);

macro_rules! store {
    ($module:ident) => {
        (stringify!($module), |folder| Arc::new($module::LinesStore::open(folder, None)))
    };
}

macro_rules! provider {
    ($module:ident) => {
        (stringify!($module), |at| {
            let wire = http_wire(&at.base_url).expect("a wire");
            let made = $module::DeskProvider::new(&at.base_url, &at.key, at.most_bytes, wire);
            Arc::new(made.expect("a provider"))
        })
    };
}

const STORES: &[(&str, Open)] = &[
/*STORES*/];

const PROVIDERS: &[(&str, Make)] = &[
/*PROVIDERS*/];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [module, case] = &words[..] else {
        eprintln!("say the module of a defect, and a case");
        return ExitCode::from(2);
    };
    let Some(checked) = of_store(module, case).or_else(|| of_provider(module, case)) else {
        eprintln!("there is no {module} with the case {case}");
        return ExitCode::from(2);
    };
    match checked {
        Ok(()) => ExitCode::SUCCESS,
        Err(violation) => {
            println!("{violation}");
            ExitCode::FAILURE
        }
    }
}

fn of_store(module: &str, wanted: &str) -> Option<Checked> {
    let (_, open) = STORES.iter().find(|(name, _)| *name == module)?;
    let place = Place::new(*open, PATIENCE);
    if let Some((_, case)) = own::CASES.iter().find(|(name, _)| *name == wanted) {
        return Some(case(&place));
    }
    let (_, case) = STORE_CASES.iter().find(|(name, _)| *name == wanted)?;
    Some(case(&place))
}

fn of_provider(module: &str, wanted: &str) -> Option<Checked> {
    let (_, provider) = PROVIDERS.iter().find(|(name, _)| *name == module)?;
    let (_, case) = PROVIDER_CASES.iter().find(|(name, _)| *name == wanted)?;
    Some(case(&Desk { provider: *provider, patience: PATIENCE }))
}
