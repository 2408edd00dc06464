//! Stories: a session's facts, each in one line, for people.

use windlass_engine::agent_session;
use windlass_engine::core::{
    ApprovalAnswered, CallId, CompactionFact, ContextFact, ContextSource, EffectStart, FactGroup,
    HookDecided, HookFact, HookVerdict, InputFact, Item, Observation, PermissionFact, ProgramEnd,
    ProgramFact, ProgramRun, Recorded, RunFact, SampleCut, SampleFact, SessionFact, Stands,
    TurnFact, TurnSettled, Verdict,
};

use super::words::{
    goal_words, mode_name, outcome_words, permissions_name, status_words, trigger_words, visible,
};

/// One line of a session's story, for facts that are part of it.
pub(crate) fn story(recorded: &Recorded) -> Option<String> {
    let words = match recorded.fact.group() {
        FactGroup::Session(SessionFact::SessionOpened(opened)) => {
            let settings = &opened.settings;
            format!(
                "session {} on {} {}",
                recorded.session, settings.provider, settings.model
            )
        }
        FactGroup::Session(SessionFact::SettingsChanged(changed)) => {
            let settings = &changed.settings;
            format!(
                "settings: {} {}, {} mode, permissions {}",
                settings.provider,
                settings.model,
                mode_name(settings.mode),
                permissions_name(settings.permissions)
            )
        }
        FactGroup::Goal(fact) => match (fact.end(), fact.goal()) {
            (Some(end), _) => goal_words(end),
            (None, Some(goal)) => {
                format!("goal, for {} turns at most: {}", goal.turns, goal.text)
            }
            (None, None) => "the goal was taken away".to_owned(),
        },
        FactGroup::Input(InputFact::InputQueued(queued)) => {
            let from = queued.context.iter().map(|part| part.from.clone());
            let images = queued.images.iter().map(|image| {
                let sha256: String = image.sha256.chars().take(12).collect();
                format!(
                    "an image ({}, {} bytes, {sha256})",
                    image.media.as_str(),
                    image.bytes
                )
            });
            let with: Vec<String> = from.chain(images).collect();
            match with.as_slice() {
                [] => format!("user: {}", queued.text),
                with => format!("user, with {}: {}", with.join(", "), queued.text),
            }
        }
        FactGroup::Hook(HookFact::HookDecided(decided)) => hook(decided)?,
        FactGroup::Input(InputFact::InputBlocked(blocked)) => {
            format!(
                "the prompt {} was blocked: {}",
                blocked.input, blocked.reason
            )
        }
        FactGroup::Context(ContextFact::ContextInjected(injected)) => context(&injected.from)?,
        FactGroup::Compaction(CompactionFact::CompactionStarted(started)) => format!(
            "the conversation is compacted: {}",
            trigger_words(started.trigger)
        ),
        FactGroup::Compaction(CompactionFact::Compacted(compacted)) => format!(
            "compacted to {} parts of {} bytes",
            compacted.shown.items, compacted.shown.bytes
        ),
        FactGroup::Compaction(CompactionFact::CompactionFailed(failed)) => {
            format!("the compaction failed: {}", failed.reason)
        }
        FactGroup::Sample(SampleFact::ItemAdded(added)) => match &added.item {
            Item::Text { text } => format!("model: {text}"),
            Item::Refusal { text } => format!("model refuses: {text}"),
            Item::Reasoning(item) if item.text.is_empty() => return None,
            Item::Reasoning(item) => format!("model thinks: {}", item.text),
            Item::Call(call) => {
                format!("call {}: {} {}", recorded.seq, call.name, call.arguments)
            }
        },
        FactGroup::Program(ProgramFact::ProgramCalled(called)) => format!(
            "call {} of program {}: {} {}",
            recorded.seq, called.program, called.item.name, called.item.arguments
        ),
        FactGroup::Program(ProgramFact::ProgramRun(run)) => program(run),
        FactGroup::Sample(SampleFact::SampleCut(cut)) => broken_off(cut),
        FactGroup::Permission(PermissionFact::ApprovalAsked(asked)) => {
            format!("call {}: may it run?", asked.call)
        }
        FactGroup::Permission(PermissionFact::ApprovalAnswered(answered)) => answer(answered),
        FactGroup::Run(RunFact::CallStarted(started)) if started.attempt > 1 => {
            format!(
                "call {} started again (run {})",
                started.call, started.attempt
            )
        }
        FactGroup::Run(RunFact::CallStarted(started)) if started.lent.is_some() => {
            let session = agent_session(&started.idempotency_key)?;
            format!("call {}: an agent, in session {session}", started.call)
        }
        FactGroup::Recovery(_) => {
            let Some(EffectStart::Reconcile(started)) = recorded.fact.start() else {
                return None;
            };
            format!("call {}: its tool is asked what became of it", started.call)
        }
        FactGroup::Run(RunFact::CallObserved(observed)) => {
            seen(observed.call, &observed.observation)
        }
        FactGroup::Turn(TurnFact::InterruptRequested(interrupt)) => {
            format!("asked to stop: {}", interrupt.reason)
        }
        FactGroup::Turn(TurnFact::TurnSettled(settled)) => {
            format!(
                "turn {}: {}",
                recorded.turn.map_or(0, |turn| turn.0),
                end(settled)
            )
        }
        FactGroup::Turn(TurnFact::TurnOpened(_))
        | FactGroup::Hook(HookFact::HooksAsked(_))
        | FactGroup::Input(InputFact::InputAccepted(_))
        | FactGroup::Sample(SampleFact::SampleStarted(_) | SampleFact::SampleEnded(_))
        | FactGroup::Permission(PermissionFact::CallDecided(_))
        | FactGroup::Run(RunFact::CallStarted(_)) => return None,
    };
    Some(visible(&words))
}

fn seen(call: CallId, observation: &Observation) -> String {
    let kept = match &observation.kept {
        None => String::new(),
        Some(kept) => format!(
            "\n(kept beside the log: {} bytes, {})",
            kept.bytes, kept.sha256
        ),
    };
    format!(
        "call {call} {}: {}{kept}",
        status_words(observation.status),
        observation.output
    )
}

/// What a hook said, unless it had nothing to say.
pub(super) fn hook(decided: &HookDecided) -> Option<String> {
    let verb = match decided.verdict {
        HookVerdict::Pass if decided.edit.is_some() => "changed what it was shown",
        HookVerdict::Pass if decided.context.is_some() => "has something to add",
        HookVerdict::Pass => return None,
        HookVerdict::Allow if decided.edit.is_some() => "allows it, changed",
        HookVerdict::Allow => "allows it",
        HookVerdict::Ask => "wants a person asked",
        HookVerdict::Deny => "is against it",
        HookVerdict::Halt => "ends the turn",
        HookVerdict::Failed => "failed",
        HookVerdict::Overrun => "said more than it may",
    };
    let whose = format!("hook {}", decided.name);
    let failed = matches!(decided.verdict, HookVerdict::Failed | HookVerdict::Overrun);
    let why = match decided.reason.as_str() {
        "" => String::new(),
        // A failure says itself whose it is.
        reason if failed && reason.contains(&whose) => return Some(reason.to_owned()),
        reason => format!(": {reason}"),
    };
    let edit = match &decided.edit {
        None => String::new(),
        Some(edit) => format!(" -> {}", edit.text),
    };
    Some(format!("{whose} {verb}{why}{edit}"))
}

/// What the model was told, where the words themselves stand here.
fn context(from: &ContextSource) -> Option<String> {
    match from {
        ContextSource::Workspace { text }
        | ContextSource::Posture { text }
        | ContextSource::Goal { text }
        | ContextSource::LastSample { text }
        | ContextSource::Shape { text, .. } => Some(format!("the model is told: {text}")),
        // Their words stand in the facts that they name.
        ContextSource::Presenter { .. } | ContextSource::Hook { .. } => None,
    }
}

/// How a program ended.
pub(super) fn program(run: &ProgramRun) -> String {
    let end = match (&run.outcome.end, &run.fault) {
        (ProgramEnd::Value { value }, _) => format!("ended with {value}"),
        (ProgramEnd::Return { value }, None) => format!("returned {value}"),
        (ProgramEnd::Return { value }, Some(fault)) => {
            format!("returned what cannot be used: {fault} It is {value}")
        }
        (ProgramEnd::Fail { value }, _) => format!("gave up: {value}"),
        (ProgramEnd::Fault(fault), _) => format!("failed: {fault}"),
    };
    format!("program {} {end}", run.program)
}

fn broken_off(cut: &SampleCut) -> String {
    match (cut.stands, cut.partial.as_str()) {
        (Stands::Said, "") => "the model was cut short: the user spoke".to_owned(),
        (Stands::Said, partial) => format!("model, cut short as the user spoke: {partial}"),
        (Stands::Nothing | Stands::Through { .. }, _) => {
            format!("the model was cut off: {}", cut.failure.message)
        }
    }
}

fn answer(answered: &ApprovalAnswered) -> String {
    let verdict = match (answered.verdict, &answered.edit) {
        (Verdict::Allow, None) => "it may run".to_owned(),
        (Verdict::Allow, Some(edit)) => format!("it may run, with {}", edit.text),
        (Verdict::Ask, _) => "still open".to_owned(),
        (Verdict::Deny, _) => format!("it may not run: {}", answered.reason),
    };
    format!("call {}: {verdict}", answered.call)
}

fn end(settled: &TurnSettled) -> String {
    let spent = &settled.spent;
    let waiting = match settled.waiting.len() {
        0 => String::new(),
        1 => "; 1 input waits".to_owned(),
        many => format!("; {many} inputs wait"),
    };
    let estimated = match spent.estimated_tokens {
        0 => String::new(),
        tokens => format!(", about {tokens} more that the provider did not report"),
    };
    let agents = match &spent.agents {
        nothing if nothing.is_nothing() => String::new(),
        took => format!(
            "; and its agents {} samples, {} tokens{}",
            took.samples,
            took.tokens,
            money(took.cost_micros)
        ),
    };
    let cost = money(spent.cost_micros);
    format!(
        "{} ({} samples, {} calls, {} tokens{estimated}{cost}{agents}){waiting}",
        outcome_words(&settled.outcome),
        spent.samples,
        spent.calls,
        spent.usage.tokens()
    )
}

fn money(micros: u64) -> String {
    match micros {
        0 => String::new(),
        micros => format!(", cost {}.{:06}", micros / 1_000_000, micros % 1_000_000),
    }
}
