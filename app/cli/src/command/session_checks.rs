//! Checks of a resumed session: report or reject changes that would be silent.

use std::path::Path;

use windlass_engine::core::{
    EffectClass, Fact, GOAL_TOOL, Phase, SEARCH_TOOLS_TOOL, Seq, Session, SessionId, Settings,
};
use windlass_engine::ports::{LogStore, Tenants};
use windlass_engine::{ChildSession, RecoveredCalls};
use windlass_skills::ACTIVATE_SKILL_TOOL;

use crate::exit::Failure;
use crate::present::{print_error, print_notice, visible};

/// Most child sessions that are listed.
pub(super) const NAMED: usize = 100;

/// Lists the calls that an earlier process allowed, before `decider` decides again about them.
pub(super) fn announce_recovered(recovered: &RecoveredCalls, decider: &str) {
    for call in &recovered.calls {
        print_notice(&format!(
            "  an earlier process allowed {} {}: {decider} decides again if it runs",
            visible(&call.tool),
            visible(&call.arguments)
        ));
    }
    if recovered.more > 0 {
        print_notice(&format!("  and {} more calls", recovered.more));
    }
}

/// Warns if programs are offered tools that none of them may call: the last sample for work calls
/// no tools, and it is the only sample.
pub(super) fn warn_uncallable_tools(settings: &Settings) {
    let limits = &settings.limits;
    let offered = settings.options.program.is_some() && !settings.tools.is_empty();
    if !offered || settings.work_samples(limits) > 1 {
        return;
    }
    let aside = match &settings.options.output_schema {
        Some(answer) if answer.max_re_asks > 0 => format!(
            ", of which --answer-retries {} are set aside for an answer that does not fit",
            answer.max_re_asks
        ),
        Some(_) | None => String::new(),
    };
    print_error(&format!(
        "a turn has one sample for work (--max-samples {}{aside}), and the program of the last one \
         cannot call tools: none will be called. Allow more samples for that",
        limits.samples
    ));
}

/// Rejects an unfinished turn whose tools are missing, since each call to one would fail
/// permanently. A tools file on the command line overrides this.
pub(super) fn reject_missing_tools(
    session: &Session,
    settings: &Settings,
    tools: Option<&Path>,
) -> Result<(), Failure> {
    let Some(turn) = session.turn() else {
        return Ok(());
    };
    let gone = gone(&turn.settings, settings);
    if gone.is_empty() || tools.is_some() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot continue the unfinished turn of session {}: missing tools: {}. Name their file \
         with --tools FILE; with a file without them the turn continues, and their calls fail",
        session.id,
        gone.join(", ")
    )))
}

/// Rejects tools that now declare fewer effects than before. Their calls would no longer need
/// approval, or might be repeated after a crash. A tools file on the command line overrides this.
pub(super) fn reject_weaker_tools(
    session: &Session,
    settings: &Settings,
    tools: Option<&Path>,
) -> Result<(), Failure> {
    if tools.is_some() {
        return Ok(());
    }
    let lighter = settings.tools.iter().filter_map(|tool| {
        let before = session.settings.tool(&tool.name)?;
        let lighter = tool.effect < before.effect;
        lighter.then(|| {
            let (was, is) = (effect_name(before.effect), effect_name(tool.effect));
            format!("{} (it was {was} and is now {is})", tool.name)
        })
    });
    let lighter: Vec<String> = lighter.collect();
    if lighter.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot continue session {}: the effect class of its tools was lowered: {}. If that is \
         intended, name their file with --tools FILE",
        session.id,
        lighter.join(", ")
    )))
}

/// Rejects a session whose hooks or redaction are missing. Calls that they deny would be allowed,
/// and text that they redact would be shown. A hooks file on the command line overrides this.
pub(super) fn reject_missing_hooks(
    session: &Session,
    settings: &Settings,
    hooks: Option<&Path>,
) -> Result<(), Failure> {
    if hooks.is_some() {
        return Ok(());
    }
    let turn = session.turn().map(|turn| &turn.settings);
    let had: Vec<&Settings> =
        turn.into_iter().chain([&session.settings]).map(|had| &**had).collect();
    let hooks = had.iter().flat_map(|had| &had.hooks);
    let mut gone: Vec<&str> = hooks
        .filter(|hook| !settings.hooks.contains(hook))
        .map(|hook| hook.name.as_str())
        .collect();
    let redactions = had.iter().filter_map(|had| had.redaction.as_ref());
    let mut redactions = redactions.filter(|had| settings.redaction.as_ref() != Some(had));
    if redactions.next().is_some() {
        gone.push("redact (what is removed from the model's answers)");
    }
    gone.dedup();
    if gone.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot continue session {}: its hooks are missing or changed: {}. Name their file with \
         --hooks FILE; the contents of that file apply from then on",
        session.id,
        gone.join(", ")
    )))
}

/// Warns if the tools work in another folder than before, if tools are missing, and if changes
/// apply only from the next turn on.
pub(super) async fn warn_changes(
    store: &dyn LogStore,
    session: &Session,
    settings: &Settings,
    workspace: &Path,
) -> Result<(), Failure> {
    if let Some(opened_in) = opened_in(store, session).await?
        && Path::new(&opened_in) != workspace
    {
        print_notice(&format!(
            "  it was opened in {opened_in}; its tools now work in {}",
            workspace.display()
        ));
    }
    let gone = gone(&session.settings, settings);
    if !gone.is_empty() {
        print_notice(&format!("  missing tools: {} (--tools FILE restores them)", gone.join(", ")));
    }
    if let Phase::InTurn(_) = &session.phase
        && differs(&session.settings, settings)
    {
        print_notice(
            "  the unfinished turn keeps its settings; your changes apply from the next turn on",
        );
    }
    Ok(())
}

/// Warns of agents that outlive their calls and are interrupted by the end of the process.
pub(super) async fn warn_unfinished_agents(store: &dyn LogStore, session: &SessionId) {
    match windlass_engine::unfinished_children(store, &Tenants::All, session).await {
        Ok(agents) => {
            for ChildSession { session, agent, .. } in agents {
                print_notice(&visible(&format!(
                    "  session {session} of agent {agent} is unfinished: windlass resume {session}"
                )));
            }
        }
        Err(error) => print_notice(&format!("  cannot check for unfinished agents: {error}")),
    }
}

/// Warns of child sessions that are missing in the target, with advice on how to copy them.
pub(super) async fn warn_agents_left_behind(
    store: &dyn LogStore,
    sessions: &[SessionId],
    how: impl Fn(&SessionId) -> String,
) {
    let mut left = Vec::new();
    for session in sessions {
        let agents = windlass_engine::child_sessions(store, session).await;
        for (log, error) in agents.unreadable {
            print_notice(&format!("  cannot list the agents of session {log}: {error}"));
        }
        left.extend(agents.sessions);
    }
    left.retain(|sent| !sessions.contains(&sent.session));
    for ChildSession { session, agent, .. } in left.iter().take(NAMED) {
        let how = how(session);
        print_notice(&visible(&format!(
            "  session {session} of its agent {agent} is not included: {how}"
        )));
    }
    if left.len() > NAMED {
        print_notice(&format!("  and {} more", left.len() - NAMED));
    }
    if !left.is_empty() {
        print_notice(
            "  an open call continues only in a store that has the session of its agent; \
             elsewhere its outcome is unknown",
        );
    }
}

async fn opened_in(store: &dyn LogStore, session: &Session) -> Result<Option<String>, Failure> {
    let facts = store.read(&session.id, Seq::ZERO, 1).await?;
    Ok(facts.into_iter().next().and_then(|first| {
        let Fact::SessionOpened(opened) = first.fact else {
            return None;
        };
        opened.workspace
    }))
}

fn gone(before: &Settings, now: &Settings) -> Vec<String> {
    let is_there = |name: &str| now.tools.iter().any(|tool| tool.name == name);
    // Clients run their tools themselves. The goal's tool is offered while there is a goal, that of
    // skills while there are skills, and the search for tools while some are deferred.
    let names = before.tools.iter().filter(|tool| !tool.client).map(|tool| tool.name.clone());
    names
        .filter(|name| {
            let comes_and_goes = [GOAL_TOOL, ACTIVATE_SKILL_TOOL, SEARCH_TOOLS_TOOL];
            !comes_and_goes.contains(&name.as_str()) && !is_there(name)
        })
        .collect()
}

fn effect_name(effect: EffectClass) -> &'static str {
    match effect {
        EffectClass::ReadOnly => "read-only",
        EffectClass::Idempotent => "idempotent",
        EffectClass::Effectful => "effectful",
    }
}

/// Returns true if anything but the tools, which have their own warning, differs.
fn differs(before: &Settings, now: &Settings) -> bool {
    let mut before = before.clone();
    before.tools.clone_from(&now.tools);
    before != *now
}
