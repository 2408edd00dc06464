//! `windlass doctor`: is everything there that a turn needs?

use windlass::ports::ToolExecutor as _;

use super::closed;
use crate::args::Doctor;
use crate::exit::{Exit, Failure};
use crate::present::{complain, line, visible};
use crate::wiring::{self, Site};

pub(super) async fn doctor(args: Doctor) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let say = |words: String| line(&visible(&words)).map_err(closed);
    say(format!("windlass   {}", env!("CARGO_PKG_VERSION")))?;
    say(format!("workspace  {}", site.workspace.display()))?;
    let mut worst = Exit::Completed;
    let mut note = |failure: Failure| {
        complain(&failure.message);
        worst = failure.exit;
    };
    match store(&site).await {
        Ok(words) => say(format!("store      {words}"))?,
        Err(failure) => note(failure),
    }
    match wiring::toolbox(&site.workspace, args.shape.tools.as_deref()) {
        Ok(toolbox) => {
            let names: Vec<String> = toolbox.tools().into_iter().map(|tool| tool.name).collect();
            say(format!("tools      {}", names.join(", ")))?;
        }
        Err(failure) => note(failure),
    }
    match provider(&args).await {
        Ok(words) => say(format!("provider   {words}"))?,
        Err(failure) => note(failure),
    }
    Ok(worst)
}

/// Opens the store and lists a session, which reads and changes nothing.
async fn store(site: &Site) -> Result<String, Failure> {
    let store = site.open().await?;
    store.sessions(None, 1).await?;
    let durability = store.capabilities().durability;
    Ok(format!(
        "{:?}, an acknowledged fact survives: {durability:?}",
        site.store
    ))
}

async fn provider(args: &Doctor) -> Result<String, Failure> {
    let chosen = wiring::choose(&args.shape, None)?;
    let models = wiring::reach(&chosen).await?;
    Ok(format!(
        "{}, reached; it names {} models",
        chosen.name.as_str(),
        models.len()
    ))
}
