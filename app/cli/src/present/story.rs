//! Stories: a session's facts, each in one line, for people.

use windlass_engine::agent_session;
use windlass_engine::core::{
    ApprovalAnswered, CallEntry, CallId, CallSource, CompactionEntry, ContentPart, ContextSource,
    GrantLifetime, HookDecided, HookEntry, HookVerdict, InputEntry, InputQueued, InterruptSource,
    Observation, PermissionsNarrowed, ProgramEnd, ProgramRun, RecordedFact, SampleCut, SampleEntry,
    SessionEntry, SessionId, TimelineEntry, TurnEntry, TurnSettled, Verdict, result_text,
};

use super::TurnNumbers;
use super::sources::{Sources, search_words};
use super::words::{
    compacted_words, goal_words, mode_name, other_model_words, outcome_words, permissions_name,
    status_words, trigger_words, visible,
};

/// Returns the line of a fact in a session's story, if it has one. Turns are named by their ids.
pub(crate) fn story(recorded: &RecordedFact) -> Option<String> {
    numbered_story(recorded, &TurnNumbers::default())
}

/// Returns the line of a fact in a session's story, if it has one. `turns` has the turns up to there.
pub(crate) fn numbered_story(recorded: &RecordedFact, turns: &TurnNumbers) -> Option<String> {
    let words = match TimelineEntry::of(recorded) {
        TimelineEntry::Session(entry) => session(&recorded.session, entry, turns)?,
        TimelineEntry::Input(InputEntry::Queued(queued)) => describe_input(queued),
        TimelineEntry::Input(InputEntry::Blocked(blocked)) => {
            format!("the prompt {} was blocked: {}", blocked.input, blocked.reason)
        }
        TimelineEntry::Input(InputEntry::Edited(edited)) => {
            format!("the prompt {} was changed: {}", edited.input, edited.text)
        }
        TimelineEntry::Input(InputEntry::Moved(moved)) => match moved.before {
            Some(before) => format!("the prompt {} was moved before {before}", moved.input),
            None => format!("the prompt {} was moved to the end", moved.input),
        },
        TimelineEntry::Input(InputEntry::Withdrawn(withdrawn)) => {
            format!("the prompt {} was withdrawn", withdrawn.input)
        }
        TimelineEntry::Turn(TurnEntry::Interrupted(fact)) => {
            format!("asked to stop: {}", fact.reason)
        }
        TimelineEntry::Turn(TurnEntry::Settled(settled)) => {
            let turn = recorded.turn.map(|turn| format!(" {}", turns.name(turn)));
            format!("turn{}: {}", turn.unwrap_or_default(), end(settled))
        }
        TimelineEntry::Hook(HookEntry::Decided(decided)) => hook(decided)?,
        TimelineEntry::Context(injected) => context(&injected.from)?,
        TimelineEntry::Compaction(entry) => compaction(entry),
        TimelineEntry::Sample(SampleEntry::Content { part, .. }) => content(part)?,
        TimelineEntry::Sample(SampleEntry::Cut(cut)) => broken_off(cut),
        TimelineEntry::Sample(SampleEntry::Ended(ended)) => {
            let request = ended.request.as_deref()?;
            other_model_words(request, request.other_model()?)
        }
        TimelineEntry::Call(id, entry) => call(id, entry)?,
        TimelineEntry::Program(run) => program(run),
        TimelineEntry::Input(InputEntry::Accepted(_))
        | TimelineEntry::Turn(TurnEntry::Opened(_))
        | TimelineEntry::Hook(HookEntry::Asked(_))
        | TimelineEntry::Sample(SampleEntry::Started(_)) => return None,
    };
    Some(visible(&words))
}

/// Marks each line of a rewound fact's text.
pub(crate) fn mark_rewound(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| format!("[rewound] {line}")).collect();
    lines.join("\n")
}

fn session(id: &SessionId, entry: SessionEntry<'_>, turns: &TurnNumbers) -> Option<String> {
    Some(match entry {
        SessionEntry::Opened(opened) => {
            let settings = &opened.settings;
            format!("session {id} on {} {}", settings.provider, settings.model)
        }
        SessionEntry::Settings(changed) => {
            let settings = &changed.settings;
            format!(
                "settings: {} {}, {} mode, permissions {}",
                settings.provider,
                settings.model,
                mode_name(settings.mode),
                permissions_name(settings.permissions)
            )
        }
        SessionEntry::Narrowed(to) => narrowed(to),
        SessionEntry::FilesRestored(restored) => {
            let count = restored.paths.len().saturating_add(restored.more as usize);
            let paths: Vec<String> = restored.paths.iter().map(|path| visible(path)).collect();
            format!(
                "{count} files were restored as before turn {}: {}",
                turns.name(restored.of),
                paths.join(", ")
            )
        }
        SessionEntry::Renamed(renamed) => match &renamed.title {
            Some(title) => format!("the session was named {}", visible(title)),
            None => "the name of the session was removed".to_owned(),
        },
        SessionEntry::Rewound(rewound) => {
            format!("the conversation was rewound to {}", rewound.to)
        }
        SessionEntry::Goal(set) => match &set.goal {
            Some(goal) => format!("goal, for {} turns at most: {}", goal.turns, goal.text),
            None => "the goal was removed".to_owned(),
        },
        SessionEntry::GoalEnded(ended) => goal_words(&ended.end),
        SessionEntry::Resumed => return None,
    })
}

/// Describes permissions that were narrowed to those of the process.
fn narrowed(to: &PermissionsNarrowed) -> String {
    let mut parts = Vec::new();
    parts.extend(to.mode.map(|mode| format!("{} mode", mode_name(mode))));
    parts.extend(to.permissions.map(|most| format!("permissions {}", permissions_name(most))));
    let count = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    };
    parts.extend(count(to.rules.len(), "more rule"));
    parts.extend(count(to.withdrawn.len(), "withdrawn permission"));
    parts.extend(count(to.hooks.len(), "more hook"));
    parts.extend(count(to.effects.len(), "corrected tool"));
    parts.extend(to.again.then(|| "its calls are decided again".to_owned()));
    parts.extend(to.hold.then(|| "a person is asked about them".to_owned()));
    format!("narrowed to what this process permits: {}", parts.join(", "))
}

fn describe_input(queued: &InputQueued) -> String {
    let from = queued.context.iter().map(|part| part.from.clone());
    let images = queued.images.iter().map(|image| {
        let sha256: String = image.sha256.chars().take(12).collect();
        format!("an image ({}, {} bytes, {sha256})", image.media.as_str(), image.bytes)
    });
    let with: Vec<String> = from.chain(images).collect();
    if let Some(call) = queued.result_of {
        return format!("result of the agent of call {call}: {}", queued.text);
    }
    if queued.command.is_some() {
        return format!("user runs: {}", queued.text);
    }
    match with.as_slice() {
        [] => format!("user: {}", queued.text),
        with => format!("user, with {}: {}", with.join(", "), queued.text),
    }
}

fn compaction(entry: CompactionEntry<'_>) -> String {
    match entry {
        CompactionEntry::Requested(requested) => match &requested.focus {
            Some(focus) => format!("a compaction is requested, with the focus: {focus}"),
            None => "a compaction is requested".to_owned(),
        },
        CompactionEntry::Started(started) => {
            format!("the conversation is compacted: {}", trigger_words(started.trigger))
        }
        CompactionEntry::Done(compacted) => compacted_words(compacted),
        CompactionEntry::Failed(failed) => format!("the compaction failed: {}", failed.reason),
    }
}

fn content(part: ContentPart<'_>) -> Option<String> {
    match part {
        ContentPart::Text { text, citations } => {
            let mut sources = Sources::default();
            sources.add(citations);
            let lines = [format!("model: {text}")].into_iter().chain(sources.lines());
            Some(lines.collect::<Vec<_>>().join("\n"))
        }
        ContentPart::Refusal(text) => Some(format!("model refuses: {text}")),
        ContentPart::Reasoning(item) if !item.searches.is_empty() => {
            Some(format!("model {}", search_words(&item.searches)))
        }
        ContentPart::Reasoning(item) if item.text.is_empty() => None,
        ContentPart::Reasoning(item) => Some(format!("model thinks: {}", item.text)),
    }
}

fn call(id: CallId, entry: CallEntry<'_>) -> Option<String> {
    Some(match entry {
        CallEntry::Proposed(source, item) => {
            let of = match source {
                CallSource::Program(program) => format!(" of program {program}"),
                CallSource::User(input) => format!(" of the user, input {input}"),
                CallSource::Sample(_) => String::new(),
            };
            format!("call {id}{of}: {} {}", item.name, item.arguments)
        }
        CallEntry::Asked(_) => format!("call {id}: may it run?"),
        CallEntry::Answered(answered) => format!("call {id}: {}", answer(answered)),
        CallEntry::Started(started) if started.attempt > 1 => {
            format!("call {id} started again (run {})", started.attempt)
        }
        CallEntry::Started(started) if started.grant.is_some() => {
            let session = agent_session(&started.idempotency_key)?;
            format!("call {id}: an agent, in session {session}")
        }
        CallEntry::Suspended(suspended) => {
            let question = suspended.suspension.question.as_ref()?;
            format!("call {id}: its tool asks: {}", question.question)
        }
        CallEntry::Resumed(resumed) if resumed.answer.declined => {
            format!("call {id}: nobody answers: {}", resumed.answer.text)
        }
        CallEntry::Resumed(resumed) => format!("call {id}: answered: {}", resumed.answer.text),
        CallEntry::Reconciling => format!("call {id}: its tool is asked for the outcome"),
        CallEntry::Observed(observed) => describe_observation(id, &observed.observation),
        CallEntry::Decided(_) | CallEntry::Started(_) => return None,
    })
}

fn describe_observation(call: CallId, observation: &Observation) -> String {
    let kept = match &observation.stored_output {
        None => String::new(),
        Some(kept) => format!("\n(stored beside the log: {} bytes, {})", kept.bytes, kept.sha256),
    };
    let confined = match &observation.confinement {
        None => String::new(),
        Some(record) => format!(" (sandbox: {}, {})", record.profile, record.mechanisms),
    };
    format!(
        "call {call} {}{confined}: {}{kept}",
        status_words(observation.status),
        result_text(observation, None)
    )
}

/// Describes the reply of a hook; `None` if it has no content.
pub(crate) fn hook(decided: &HookDecided) -> Option<String> {
    let verb = match decided.verdict {
        HookVerdict::Pass if decided.edit.is_some() => "changed its subject",
        HookVerdict::Pass if decided.context.is_some() => "adds context",
        HookVerdict::Pass => return None,
        HookVerdict::Allow if decided.edit.is_some() => "allows it with changes",
        HookVerdict::Allow => "allows it",
        HookVerdict::Ask => "asks a person",
        HookVerdict::Deny => "denies it",
        HookVerdict::Halt => "ends the turn",
        HookVerdict::Failed => "failed",
        HookVerdict::Overrun => "exceeded its limit",
    };
    let whose = format!("hook {}", decided.name);
    let failed = matches!(decided.verdict, HookVerdict::Failed | HookVerdict::Overrun);
    let why = match decided.reason.as_str() {
        "" => String::new(),
        // A failure names its hook itself.
        reason if failed && reason.contains(&whose) => return Some(reason.to_owned()),
        reason => format!(": {reason}"),
    };
    let edit = match &decided.edit {
        None => String::new(),
        Some(edit) => format!(" -> {}", edit.text),
    };
    Some(format!("{whose} {verb}{why}{edit}"))
}

/// Returns the text of the context, if the fact contains it.
fn context(from: &ContextSource) -> Option<String> {
    match from {
        ContextSource::Workspace { text }
        | ContextSource::Permissions { text }
        | ContextSource::Goal { text }
        | ContextSource::LastSample { text }
        | ContextSource::InvalidOutput { text, .. }
        | ContextSource::EmptyAnswer { text, .. } => Some(format!("the model is told: {text}")),
        // Their texts are in the facts that they name.
        ContextSource::Presenter { .. } | ContextSource::Hook { .. } => None,
    }
}

/// Describes the end of a program.
pub(crate) fn program(run: &ProgramRun) -> String {
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
    let cause = match cut.stopped_by {
        None => "the user spoke",
        Some(InterruptSource::Person) => "the user interrupted",
        Some(InterruptSource::Parent) => "the calling session stopped the turn",
        Some(InterruptSource::Shutdown) => "the process was shut down",
        Some(InterruptSource::Deadline) => "the time of the turn was over",
    };
    match (cut.retains_text(), cut.partial.as_str()) {
        (true, "") => format!("the model was cut short: {cause}"),
        (true, partial) => format!("model, cut short as {cause}: {partial}"),
        (false, _) => format!("the model was cut off: {}", cut.failure.message),
    }
}

fn answer(answered: &ApprovalAnswered) -> String {
    match (answered.verdict, &answered.edit) {
        (Verdict::Allow, None) if answered.grant.is_some() => granted(answered),
        (Verdict::Allow, None) => "it may run".to_owned(),
        (Verdict::Allow, Some(edit)) => format!("it may run, with {}", edit.text),
        (Verdict::Ask, _) => "still open".to_owned(),
        (Verdict::Deny, _) if answered.reason.is_empty() => "it may not run".to_owned(),
        (Verdict::Deny, _) => format!("it may not run: {}", answered.reason),
    }
}

fn granted(answered: &ApprovalAnswered) -> String {
    let Some(grant) = &answered.grant else {
        return "it may run".to_owned();
    };
    let lifetime = match grant.lifetime {
        GrantLifetime::Session => "in this session",
        GrantLifetime::Always => "always",
    };
    match grant.used {
        true => format!("it may run: allowed {lifetime}, {}", grant.text),
        false => format!("it may run, and from now on {lifetime}: {}", grant.text),
    }
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
        nothing if nothing.is_zero() => String::new(),
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
