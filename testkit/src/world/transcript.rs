//! Transcripts: what happened in a simulated world, for people to read.

use windlass_core::{
    CallDecided, CallId, CallReport, Compacted, CompactionFact, ContextFact, ContextSource,
    Decider, Delivery, Edit, EffectKey, EffectStart, Fact, FactGroup, GoalEnd, HookDecided,
    HookFact, HookOccurrence, InputFact, InputQueued, InterruptSource, Item, Observation,
    PermissionFact, PermissionsNarrowed, ProgramEnd, ProgramFact, ProgramOutcome, Reason,
    RecordedFact, Retained, Rule, RunFact, SampleCut, SampleFact, SampleKind, Scope, SessionFact,
    StopReason, StopTiming, TurnFact, TurnOutcome, Verdict,
};

use super::amounts::{budget, estimated, lost, money, set_aside, tokens};
use super::declared::{spell_hooks, spell_rules};
use super::programs::changes;
use super::words::{short, spell};

/// One line of a fact: its position, its kind, and what matters.
#[must_use]
pub fn line(recorded: &RecordedFact) -> String {
    let kind = recorded.fact.kind();
    let (seq, essentials) = (recorded.seq.0, essentials(recorded));
    format!("{seq:>4} {kind}{essentials}{}", keyed(&recorded.fact))
}

/// The key that it was said under, which is not its caller's own.
fn keyed(fact: &Fact) -> String {
    let own = if let Fact::InputQueued(fact) = fact { fact.key.as_ref() } else { None };
    let said = fact.keys().filter(|key| Some(*key) != own);
    said.map(|key| format!(", keyed {key}")).collect()
}

fn narrowed(fact: &PermissionsNarrowed) -> String {
    let mut parts = Vec::new();
    parts.extend(fact.mode.map(|mode| format!("mode {}", spell(&mode))));
    parts.extend(fact.permissions.map(|it| format!("permissions {}", spell(&it))));
    let rules = |rules: &[Rule], what: &str| match spell_rules(rules) {
        none if none.is_empty() => None,
        rules => Some(format!("{what} {rules}")),
    };
    parts.extend(rules(&fact.rules, "rules"));
    parts.extend(rules(&fact.withdrawn, "withdrawn"));
    let hooks = (!fact.hooks.is_empty()).then(|| format!("hooks {}", spell_hooks(&fact.hooks)));
    parts.extend(hooks);
    parts.extend(fact.effects.iter().map(|one| format!("{} is {}", one.tool, spell(&one.effect))));
    parts.extend(fact.again.then(|| String::from("calls are decided again")));
    parts.extend(fact.hold.then(|| String::from("by a person")));
    parts.extend(
        fact.matched.iter().map(|one| format!("call {} matches {:?}", one.call, one.rules)),
    );
    format!(" to {}", parts.join(", "))
}

fn essentials(recorded: &RecordedFact) -> String {
    match recorded.fact.group() {
        FactGroup::Session(SessionFact::SessionOpened(_)) => String::new(),
        FactGroup::Session(SessionFact::SettingsChanged(fact)) => {
            let (mode, permissions) =
                (spell(&fact.settings.mode), spell(&fact.settings.permissions));
            format!(" mode {mode}, permissions {permissions}")
        }
        FactGroup::Session(SessionFact::PermissionsNarrowed(fact)) => narrowed(fact),
        FactGroup::Session(SessionFact::SessionRenamed(fact)) => {
            fact.title.as_ref().map_or_else(String::new, |title| format!(" {title}"))
        }
        FactGroup::Session(SessionFact::SessionRewound(fact)) => match &fact.notice {
            Some(notice) => format!(" to {}: {notice}", fact.to),
            None => format!(" to {}", fact.to),
        },
        FactGroup::Session(SessionFact::FilesRestored(fact)) => format!(" of turn {}", fact.of),
        FactGroup::Goal(fact) => match (fact.end(), fact.goal()) {
            (Some(GoalEnd::Met { call }), _) => format!(" met, says call {call}"),
            (Some(GoalEnd::Exhausted), _) => String::from(" exhausted"),
            (Some(GoalEnd::Stopped { reason }), _) => format!(" stopped: {reason}"),
            (None, Some(goal)) => format!(" {:?}, {} turns", &*goal.text, goal.turns),
            (None, None) => String::from(" none"),
        },
        FactGroup::Input(InputFact::InputQueued(fact)) => queued(fact),
        FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
            let dry = if fact.dry_run { ", dry run" } else { "" };
            format!(" because {}{dry}", because(&fact.reason))
        }
        FactGroup::Hook(HookFact::HooksAsked(fact)) => {
            let hooks: Vec<String> = fact.hooks.iter().map(u32::to_string).collect();
            let again = again(fact.attempt);
            format!(" {}: hook {}{again}", place(&fact.at), hooks.join(", "))
        }
        FactGroup::Hook(HookFact::HookDecided(fact)) => spoken(fact),
        FactGroup::Input(InputFact::InputAccepted(fact)) => {
            let call = fact.call.as_ref().map(|call| format!(": call {}", call.name));
            format!(" input {}{}", fact.input, call.unwrap_or_default())
        }
        FactGroup::Input(InputFact::InputBlocked(fact)) => {
            format!(" input {}: {}", fact.input, fact.reason)
        }
        FactGroup::Input(InputFact::InputEdited(fact)) => {
            format!(" input {} {:?}", fact.input, short(&fact.text))
        }
        FactGroup::Input(InputFact::InputMoved(fact)) => match fact.before {
            Some(before) => format!(" input {} before {before}", fact.input),
            None => format!(" input {} to the end", fact.input),
        },
        FactGroup::Input(InputFact::InputWithdrawn(fact)) => format!(" input {}", fact.input),
        FactGroup::Context(ContextFact::ContextInjected(fact)) => {
            format!(" {}", source(&fact.from))
        }
        FactGroup::Compaction(CompactionFact::CompactionRequested(fact)) => {
            fact.focus.as_ref().map(|focus| format!(" on {:?}", &**focus)).unwrap_or_default()
        }
        FactGroup::Compaction(CompactionFact::CompactionStarted(fact)) => format!(
            " {} attempt {}: {}, {} to {} bytes{}{}{}",
            fact.compaction,
            fact.attempt,
            spell(&fact.trigger),
            spell(&fact.strategy),
            fact.target_bytes,
            fact.model.as_ref().map(|model| format!(", asks {model}")).unwrap_or_default(),
            set_aside(fact.reserved),
            lost(fact.lost)
        ),
        FactGroup::Compaction(CompactionFact::Compacted(fact)) => compacted(fact),
        FactGroup::Compaction(CompactionFact::CompactionFailed(fact)) => {
            format!(" {}{}", fact.reason, lost(fact.lost))
        }
        FactGroup::Sample(SampleFact::SampleStarted(fact)) => format!(
            " sample {} attempt {} because {}{}{}",
            fact.sample,
            fact.attempt,
            because(&fact.reason),
            match fact.kind {
                SampleKind::Normal => "",
                SampleKind::MustReturn => ", must return",
                SampleKind::ReAsk => ", retry",
            },
            set_aside(fact.reserved)
                + &fact.output_bound.map_or(String::new(), |most| format!(", answer up to {most}"))
        ),
        FactGroup::Sample(SampleFact::ItemAdded(fact)) => match &fact.item {
            Item::Text { text, .. } => format!(" text {:?}", short(text)),
            Item::Refusal { text } => format!(" refusal {:?}", short(text)),
            Item::Reasoning(item) => format!(" reasoning {:?}", short(&item.text)),
            Item::Call(call) => {
                let spoken = if call.inline { ", spoken" } else { "" };
                let surplus = if fact.surplus { ", surplus" } else { "" };
                format!(" call {} {}{spoken}{surplus}", call.name, call.arguments)
            }
        },
        FactGroup::Sample(SampleFact::SampleEnded(fact)) => {
            let fault = after(", fault: ", fact.fault.as_deref().unwrap_or_default());
            let tokens = tokens(fact.usage) + &estimated(fact.estimate);
            format!(" {}{tokens}{fault}", stop(&fact.stop))
        }
        FactGroup::Sample(SampleFact::SampleCut(fact)) => cut(recorded, fact),
        FactGroup::Permission(PermissionFact::CallDecided(fact)) => decided(fact),
        FactGroup::Permission(PermissionFact::ApprovalAsked(fact)) => {
            let within = fact.deadline.map(|at| at.since_ms(recorded.ts));
            let within = within.map_or(String::new(), |ms| format!(", within {ms} ms"));
            format!(" call {}{}{within}", fact.call, again(fact.attempt))
        }
        FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => format!(
            " call {} {} by {}{}{}",
            fact.call,
            spell(&fact.verdict),
            who(&fact.by),
            after(": ", &fact.reason),
            edited(fact.edit.as_ref())
        ),
        FactGroup::Run(RunFact::CallStarted(fact)) => {
            let plan = if fact.plan { ", plan" } else { "" };
            let client = if fact.client { ", by a client" } else { "" };
            let lent = fact.grant.as_ref();
            let lent = lent.map_or_else(String::new, |lent| {
                let time = match lent.turn_ms {
                    0 => String::new(),
                    ms => format!(", {ms} ms"),
                };
                budget(", lent ", lent.as_usage()) + &time
            });
            format!(" call {} attempt {}{plan}{client}{lent}", fact.call, fact.attempt)
        }
        FactGroup::Run(RunFact::CallSuspended(fact)) => {
            let asks = if fact.deadline.is_some() { ", asks" } else { "" };
            let repeats = if fact.suspension.repeatable { ", repeatable" } else { "" };
            format!(" call {}{asks}{repeats}", fact.call)
        }
        FactGroup::Run(RunFact::CallResumed(fact)) => {
            let declined = if fact.answer.declined { " declined" } else { "" };
            format!(
                " call {}{declined} by {}{}",
                fact.call,
                who(&fact.by),
                after(": ", &fact.answer.text)
            )
        }
        FactGroup::Recovery(_) => match recorded.fact.start() {
            Some(EffectStart::Reconcile(fact)) => {
                format!(" call {} attempt {}", fact.call, fact.attempt)
            }
            Some(_) | None => String::new(),
        },
        FactGroup::Run(RunFact::CallObserved(fact)) => {
            let took = fact.usage;
            let took = took.map_or_else(String::new, |took| budget(", took ", took));
            let tells = fact.report.as_ref().map_or_else(String::new, telling);
            let seen = observed(&fact.observation);
            let shown = fact
                .form
                .map_or_else(String::new, |form| format!(", shown in {} bytes", form.max_bytes));
            let detached = if fact.detached { ", detached" } else { "" };
            format!(" call {} {seen}{shown}{took}{detached}{tells}", fact.call)
        }
        FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
            let (name, arguments) = (&fact.item.name, &fact.item.arguments);
            format!(" program {}: {name} {arguments}", fact.program)
        }
        FactGroup::Program(ProgramFact::ProgramRun(fact)) => {
            let fault = after(", fault: ", fact.fault.as_deref().unwrap_or_default());
            format!(" program {} {}{fault}", fact.program, came_to(&fact.outcome))
        }
        FactGroup::Turn(TurnFact::InterruptRequested(fact)) => {
            let when = match fact.when {
                StopTiming::Now => "",
                StopTiming::AfterStep => ", after the step",
            };
            format!(" by {}{when}: {}", spell(&fact.by), fact.reason)
        }
        FactGroup::Turn(TurnFact::TurnSettled(fact)) => {
            let waiting: Vec<String> = fact.waiting.iter().map(ToString::to_string).collect();
            let waiting = after(", waiting: ", &waiting.join(", "));
            let cost = money(", cost ", fact.spent.cost_micros);
            let detached: Vec<String> = fact.detached.iter().map(ToString::to_string).collect();
            let detached = after(", detached: ", &detached.join(", "));
            format!(" {}{cost}{waiting}{detached}", outcome(&fact.outcome))
        }
    }
}

fn came_to(outcome: &ProgramOutcome) -> String {
    let end = match &outcome.end {
        ProgramEnd::Value { value } => format!("value {}", short(value)),
        ProgramEnd::Return { value } => format!("return {}", short(value)),
        ProgramEnd::Fail { value } => format!("fail {}", short(value)),
        ProgramEnd::Fault(fault) => format!("fault {fault}"),
    };
    let memory = outcome.memory.as_deref();
    let memory = memory.map(|memory| format!(", keeps {memory}"));
    let retained = match outcome.retained.is_empty() {
        true => String::new(),
        false => format!(", retains {}", changes(&outcome.retained)),
    };
    format!("{end}{}{retained}", memory.unwrap_or_default())
}

fn queued(fact: &InputQueued) -> String {
    let delivery = match fact.delivery {
        Delivery::Turn => "",
        Delivery::Steer => ", steer",
        Delivery::FollowUp => ", follow-up",
    };
    let key = fact.key.as_ref().map(|key| format!(", key {key}"));
    let dry = if fact.dry_run { ", dry run" } else { "" };
    let parts: Vec<&str> = fact.context.iter().map(|part| part.from.as_str()).collect();
    let with = after(", with ", &parts.join(", "));
    let key = key.unwrap_or_default();
    let images = match fact.images.len() {
        0 => String::new(),
        1 => String::from(", 1 image"),
        many => format!(", {many} images"),
    };
    let of = fact.result_of.map_or_else(String::new, |call| format!(", result of call {call}"));
    let command = if fact.command.is_some() { ", command" } else { "" };
    format!(" {:?}{delivery}{key}{dry}{with}{images}{of}{command}", short(&fact.text))
}

fn spoken(fact: &HookDecided) -> String {
    let context = fact.context.as_ref();
    let context = context.map(|text| format!(", context {:?}", &**text));
    format!(
        " {} {}{}{}{}",
        fact.name,
        spell(&fact.verdict),
        after(": ", &fact.reason),
        edited(fact.edit.as_ref()),
        context.unwrap_or_default()
    )
}

fn source(from: &ContextSource) -> String {
    match from {
        ContextSource::Workspace { text } => format!("workspace: {:?}", &**text),
        ContextSource::Permissions { text } => format!("posture: {:?}", &**text),
        ContextSource::Goal { text } => format!("goal: {:?}", &**text),
        ContextSource::LastSample { text } => format!("last sample: {:?}", &**text),
        ContextSource::InvalidOutput { started, text } => {
            format!("shape of the answer of {started}: {:?}", &**text)
        }
        ContextSource::EmptyAnswer { started, .. } => format!("empty answer {started}"),
        ContextSource::Presenter { input, part } => format!("part {part} of input {input}"),
        ContextSource::Hook { decided } => format!("of the hook at {decided}"),
    }
}

fn compacted(fact: &Compacted) -> String {
    let (cut, shown) = (&fact.cut, &fact.visible);
    let summary = cut.summary.as_ref();
    let summary = summary.map(|text| format!(", summary {:?}", &**text));
    let fallback = fact.fallback.as_ref();
    let fallback = fallback.map(|why| format!(", fallback: {why}"));
    let unmeasured = fact.unmeasured.filter(|requests| *requests > 0);
    let unmeasured = unmeasured.map(|requests| format!(", {requests} requests unmeasured"));
    let limit = cut.results.map_or(0, |form| form.max_bytes);
    let results = (limit > 0).then(|| format!(", results cut to {limit} bytes"));
    format!(
        " cleared before {}, left out before {}{}{}{}{}, leaves {} bytes in {} items",
        cut.clear_before,
        cut.drop_before,
        results.unwrap_or_default(),
        summary.unwrap_or_default(),
        fallback.unwrap_or_default(),
        unmeasured.unwrap_or_default(),
        shown.bytes,
        shown.items
    )
}

fn cut(recorded: &RecordedFact, fact: &SampleCut) -> String {
    let partial = match fact.partial.as_str() {
        "" => String::new(),
        text => format!(", partial {:?}", short(text)),
    };
    let stands = match fact.retained {
        Retained::Nothing => String::new(),
        Retained::Through { item } => format!(", stands through {item}"),
        Retained::Text => String::from(", what it said stands"),
    };
    let stands = match fact.stopped_by {
        None => stands,
        Some(by) => format!("{stands}, stopped by {}", spell(&by)),
    };
    let next = match fact.retry_at {
        Some(at) => format!(", next attempt in {} ms", at.since_ms(recorded.ts)),
        None => String::from(", no further attempt"),
    };
    let tokens = tokens(fact.usage);
    let about = estimated(fact.estimate);
    format!(" {}{partial}{stands}{tokens}{about}{next}", spell(&fact.failure.kind))
}

fn decided(fact: &CallDecided) -> String {
    let by = match fact.by {
        Decider::Policy => "",
        Decider::Rule => " by rule",
        Decider::Hook => " by hook",
    };
    match fact.verdict {
        Verdict::Allow => format!(" call {} allow{by}: {}", fact.call, fact.reason),
        Verdict::Ask => format!(" call {} ask{by}: {}", fact.call, fact.reason),
        Verdict::Deny => format!(" call {} deny{by}", fact.call),
    }
}

fn because(because: &Reason) -> String {
    match because {
        Reason::Input { input } => format!("opened by input {input}"),
        Reason::ToolResults => String::from("tool results"),
        Reason::Retry => String::from("retry"),
        Reason::Unfinished => String::from("unfinished"),
        Reason::PendingInput { input } => format!("pending input {input}"),
        Reason::HookContext { decided } => format!("hook context {decided}"),
        Reason::InvalidOutput { started } => format!("retry return {started}"),
        Reason::EmptyAnswer { started } => format!("empty answer {started}"),
        Reason::Compacted => String::from("compacted"),
        Reason::CompactionRequested { request } => format!("compaction requested at {request}"),
        Reason::Goal { set } => format!("goal {set}"),
    }
}

/// An occurrence of a hook point: the point, and what the occurrence carries, in its own order.
fn place(at: &HookOccurrence) -> String {
    let text = serde_json::to_string(at).unwrap_or_default();
    let fields = text.trim_matches(['{', '}']).split(',');
    let words = fields.filter_map(|field| {
        let (name, value) = field.split_once(':')?;
        let value = value.trim_matches('"');
        Some(match name.trim_matches('"') {
            "point" => value.to_owned(),
            name @ ("input" | "call" | "continued") => format!(" {name} {value}"),
            _ => format!(" {value}"),
        })
    });
    words.collect()
}

fn stop(stop: &StopReason) -> String {
    match stop {
        StopReason::Other(words) => format!("other {words:?}"),
        StopReason::Stop
        | StopReason::Length
        | StopReason::ContentFilter
        | StopReason::Unfinished => spell(stop),
    }
}

/// The calls of a program that its model is told of.
fn telling(tells: &CallReport) -> String {
    let calls: Vec<String> = tells.calls.iter().map(CallId::to_string).collect();
    let more = match tells.more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(", tells {}{more}", calls.join(" "))
}

fn observed(observation: &Observation) -> String {
    let lines: Vec<_> = observation.output.split('\n').map(short).collect();
    format!("{}: {}", spell(&observation.status), lines.join("\n"))
}

fn edited(edit: Option<&Edit>) -> String {
    edit.map_or(String::new(), |edit| match &edit.fault {
        Some(fault) => format!(", edit {:?} ({fault})", &*edit.text),
        None => format!(", edit {:?}", &*edit.text),
    })
}

fn again(attempt: u32) -> String {
    match attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    }
}

fn who(scope: &Scope) -> &str {
    match scope {
        Scope::Principal { principal, .. } => principal,
        Scope::System { .. } => "the system",
    }
}

/// A text with what comes before it; nothing where it is empty.
fn after(before: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("{before}{text}"),
    }
}

/// An outcome, with its reason.
#[must_use]
pub fn outcome(outcome: &TurnOutcome) -> String {
    match outcome {
        TurnOutcome::Completed => String::from("completed"),
        TurnOutcome::NoAnswer => String::from("no answer"),
        TurnOutcome::Refused => String::from("refused"),
        TurnOutcome::InvalidOutput { fault } => format!("misshapen: {fault}"),
        TurnOutcome::Interrupted { by, .. } => match by {
            InterruptSource::Person
            | InterruptSource::Parent
            | InterruptSource::Shutdown
            | InterruptSource::Deadline => {
                format!("interrupted by {}", spell(by))
            }
        },
        TurnOutcome::Blocked { reason } => format!("blocked: {reason}"),
        TurnOutcome::Exhausted { limit } => format!("exhausted: {}", spell(limit)),
        TurnOutcome::Failed { failure, message } => {
            format!("failed: {}: {message}", spell(failure))
        }
    }
}

/// An effect, by the fact that caused it.
#[must_use]
pub fn effect(key: &EffectKey) -> String {
    match key {
        EffectKey::Sample { started } => format!("sample@{started}"),
        EffectKey::Call { call, started } => format!("call {call}@{started}"),
        EffectKey::Hook { hook, asked } => format!("hook {hook}@{asked}"),
        EffectKey::Approval { call, asked } => format!("approval of call {call}@{asked}"),
        EffectKey::Reconcile { call, started } => format!("reconcile call {call}@{started}"),
        EffectKey::Compact { started } => format!("compact@{started}"),
    }
}
