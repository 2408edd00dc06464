//! `windlass doctor`: checks that everything a turn needs is available.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use windlass_engine::ports::{BlobCapabilities, Durability, Fencing, StoreCapabilities};

use super::closed;
use crate::args::{DoctorArgs, EscalationMode};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_error, print_line, visible};
use crate::wiring::{
    self, Adapters, FileTrust, ProviderTransport, RuledToolbox, StoreHandle, ToolSetup,
    TrustRecord, Workspace,
};

/// Bytes that are written to check for free space.
const PROBE: usize = 4096;

pub(super) async fn doctor(mut args: DoctorArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    args.shape = args.shape.for_session(None);
    let site = adapters.workspace(&args.place)?;
    let say = |words: String| print_line(&visible(&words).replace('\n', "\\n")).map_err(closed);
    say(format!("windlass   {}", env!("CARGO_PKG_VERSION")))?;
    say(format!("workspace  {}", site.workspace.display()))?;
    let mut worst = ExitKind::Completed;
    let mut note = |failure: Failure| {
        print_error(&failure.message);
        worst = failure.exit;
    };
    if let Some(fault) = &args.place.config_fault {
        note(Failure::usage(fault));
    }
    match store(&site).await {
        Ok(words) => say(format!("store      {words}"))?,
        Err(failure) => note(failure),
    }
    match TrustRecord::load() {
        Ok(record) => {
            for file in wiring::trustable_files(&site.workspace) {
                say(format!("project    {}, {}", file.from, trust_word(record.of(&file))))?;
            }
        }
        Err(failure) => note(failure),
    }
    let mut offered = Vec::new();
    match wiring::sandbox(args.shape.sandbox.profile.as_deref(), &site, &site.workspace, &[]) {
        Ok(own) => {
            match wiring::describe_sandbox(&own) {
                Ok(words) => say(format!("sandbox    {words}"))?,
                Err(failure) => note(failure),
            }
            match adapters.toolbox(&ToolSetup {
                workspace: &site.workspace,
                file: args.shape.tools.as_deref(),
                sandbox: own,
                escalation: EscalationMode::Never,
                answers: true,
                processes: args.shape.process_limits,
                locks: None,
                profile: &|name| wiring::sandbox(Some(name), &site, &site.workspace, &[]),
            }) {
                Ok(RuledToolbox { toolbox, .. }) => {
                    offered = wiring::offered_tools(&toolbox);
                    say(format!("tools      {}", named(offered.iter().map(|tool| &tool.name))))?;
                }
                Err(failure) => note(failure),
            }
        }
        Err(failure) => note(failure),
    }
    match wiring::hooks(args.shape.hooks.as_deref(), &offered) {
        Ok(hooks) => {
            let hooks = hooks.hooks();
            say(format!("hooks      {}", named(hooks.iter().map(|hook| &hook.name))))?;
        }
        Err(failure) => note(failure),
    }
    match providers(&args, adapters).await {
        Ok(told) => {
            for one in told {
                match one {
                    Ok(words) => say(format!("provider   {words}"))?,
                    Err(failure) => note(failure),
                }
            }
        }
        Err(failure) => note(failure),
    }
    Ok(worst)
}

fn trust_word(trust: FileTrust) -> &'static str {
    match trust {
        FileTrust::Trusted => "trusted",
        FileTrust::Refused => "refused, so it is not used",
        FileTrust::Changed => "changed since you decided about it, so it is not used",
        FileTrust::Unknown => "not trusted, so it is not used",
    }
}

fn named<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// Checks that the store can be read and written. A missing store is not created.
async fn store(site: &Workspace) -> Result<String, Failure> {
    if let Some(path) = site.store.path() {
        writable(path)?;
    }
    if !site.store.exists() {
        return Ok(format!("{}, to be created by the first session", site.store));
    }
    let StoreHandle { store, blobs, .. } = site.open().await?;
    store.sessions(windlass_engine::ports::SessionFilter::ALL_TENANTS, None, 1).await?;
    let encrypted = if site.is_encrypted() { ", encrypted" } else { "" };
    let promises = promises(store.capabilities(), blobs.capabilities());
    Ok(format!("{}{encrypted}, {promises}", site.store))
}

/// Describes the capabilities that a store declares.
fn promises(store: StoreCapabilities, blobs: BlobCapabilities) -> String {
    let survives = match store.durability {
        Durability::Memory => "as long as the process",
        Durability::Process => "the end of the process",
        Durability::Power => "a power cut",
    };
    let writers = match store.fencing {
        Fencing::Object => "one process opens it at a time",
        Fencing::AllWriters => "a session has one writer among all processes",
    };
    let most = store.max_fact_bytes / 1024;
    let mut words = vec![
        format!("acknowledged facts survive {survives}"),
        writers.to_owned(),
        format!("a fact has up to {most} KiB"),
    ];
    words.push(match store.tail_delay_ms {
        Some(ms) => format!("it reports appends of other processes within {ms} ms"),
        None => "it does not report appends of other processes".to_owned(),
    });
    words.push(match store.erase {
        true => "it erases sessions".to_owned(),
        false => "it erases no sessions".to_owned(),
    });
    words.push(match store.retention_ms {
        Some(ms) => format!("it erases settled sessions by itself after {ms} ms"),
        None => "it erases nothing by itself".to_owned(),
    });
    words.push(match store.max_checkpoint_bytes {
        Some(bytes) => format!("it keeps checkpoints of up to {} KiB", bytes / 1024),
        None => "it keeps no checkpoints".to_owned(),
    });
    words.push(match blobs.max_bytes {
        0 => "it keeps no long outputs and no images".to_owned(),
        bytes => format!("it keeps outputs of up to {} KiB", bytes / 1024),
    });
    words.join(", ")
}

/// Writes a file into the store's folder, or beside a store that is a file, and removes it.
fn writable(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.ancestors().find(|folder| folder.is_dir()) else {
        return Ok(());
    };
    let probe = folder.join(format!(".windlass-doctor-{}.tmp", std::process::id()));
    let written = File::create_new(&probe).and_then(|mut file| file.write_all(&[0; PROBE]));
    let removed = fs::remove_file(&probe);
    written.and(removed).map_err(|error| {
        let words = format!(
            "cannot write to the store in {}: {error}; make room, allow this user to write \
             there, or name another store with --store",
            folder.display()
        );
        Failure::new(ExitKind::Store, words)
    })
}

/// Checks every configured provider.
async fn providers(
    args: &DoctorArgs,
    adapters: &Adapters,
) -> Result<Vec<Result<String, Failure>>, Failure> {
    let chosen = adapters.choose_provider(&args.shape, &ProviderTransport::Network, None)?;
    let reached = wiring::list_models(&chosen).await.into_iter();
    let told = reached.map(|(name, models)| match models {
        None => Ok(format!("{name}, not asked: its endpoint lists no models")),
        Some(Ok(1)) => Ok(format!("{name}, reached; it lists 1 model")),
        Some(Ok(many)) => Ok(format!("{name}, reached; it lists {many} models")),
        Some(Err(failure)) => {
            Err(Failure::new(failure.exit, format!("the provider {name}: {}", failure.message)))
        }
    });
    Ok(told.collect())
}
