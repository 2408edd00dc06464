//! Ceiling: the calls that this process permits, whatever a log says.
//!
//! A log may come from elsewhere, or from a time with other settings. Before a machine acts on
//! anything, it compares the settings of the session and of its open turn with the ceiling of its
//! process. If they permit more, a fact narrows them. Calls that have not started are decided again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::call::Verdict;
use crate::call::policy::{mode_verdict, permitted};
use crate::evolve::queue;
use crate::fact::{CallRules, PermissionsNarrowed, ToolEffect};
use crate::hook::{HookOccurrence, HookPoint, HookSpec};
use crate::hook_rounds::{CombinedVerdict, FinishedRound, HookRounds};
use crate::id::{CallId, Seq};
use crate::record::RecordedFact;
use crate::rule::{Rule, RuleVerdict};
use crate::session::{CallProgress, CallState, CallValidity, OutsideSandbox, Session, Turn};
use crate::settings::{EffectClass, Mode, Permissions, Settings};

/// The most that a process permits to any session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Mode of the process.
    pub mode: Mode,
    /// Permissions of the process.
    pub permissions: Permissions,
    /// Rules of the process. Those that deny or ask apply to every session. Where the permissions
    /// ask, no other rule allows a call.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Hooks of the process. Each is asked in every session, in place of the session's hook of its
    /// name, point and subjects.
    #[serde(default)]
    pub hooks: Vec<HookSpec>,
    /// Effect classes of the process's tools, by name. A log cannot say that one of them changes
    /// less.
    #[serde(default)]
    pub effects: BTreeMap<String, EffectClass>,
    /// True if a person decides about calls of an earlier process that have not started. A run that
    /// it did start is not repeated. Calls that change nothing are not held.
    #[serde(default)]
    pub hold_recovered: bool,
}

impl Ceiling {
    /// Returns the ceiling of a process whose new sessions have these settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let effects = settings.tools.iter().map(|tool| (tool.name.clone(), tool.effect));
        Self {
            mode: settings.mode,
            permissions: settings.permissions,
            rules: settings.rules.clone(),
            hooks: settings.hooks.clone(),
            effects: effects.collect(),
            hold_recovered: false,
        }
    }

    /// Returns the fact that narrows the session to this ceiling; `None` if it changes nothing.
    /// `recovers` says that a new process takes the session over: it decides again about the calls
    /// of the open turn, since the log may be somebody else's. `matched` has the rules that these
    /// calls match, see [`CallsToMatch`].
    #[must_use]
    pub fn narrowing(
        &self,
        session: &Session,
        recovers: bool,
        matched: Vec<CallRules>,
    ) -> Option<PermissionsNarrowed> {
        let mut fact = PermissionsNarrowed::default();
        self.compare(&session.settings, &mut fact);
        if let Some(turn) = session.turn() {
            self.compare(&turn.settings, &mut fact);
            if !fact.rules.is_empty() || !fact.withdrawn.is_empty() {
                fact.matched.clone_from(&matched);
            }
            let hold = self.hold_recovered;
            let again = PermissionsNarrowed { again: true, hold, matched, ..fact.clone() };
            if recovers && again.changes_more_than(&fact, turn, session.next) {
                fact = again;
            }
        }
        (fact != PermissionsNarrowed::default()).then_some(fact)
    }

    /// Returns the calls to compare with the rules before the session is narrowed; `None` if there
    /// are no such calls or no rules.
    pub(crate) fn calls_to_match(&self, session: &Session) -> Option<CallsToMatch> {
        let turn = session.turn()?;
        let mut settings = turn.settings.clone();
        if let Some(fact) = self.narrowing(session, true, Vec::new()) {
            fact.narrow(Arc::make_mut(&mut settings));
        }
        let pending = turn.calls().iter().filter(|call| is_pending(call));
        let calls: Vec<CallId> = pending.map(|call| call.id).collect();
        let any = !calls.is_empty() && !settings.rules.is_empty();
        any.then_some(CallsToMatch { settings, calls })
    }

    /// Adds what these settings permit beyond the ceiling.
    fn compare(&self, settings: &Settings, fact: &mut PermissionsNarrowed) {
        if self.mode == Mode::Plan && settings.mode == Mode::Build {
            fact.mode = Some(Mode::Plan);
        }
        if self.permissions < settings.permissions {
            fact.permissions = Some(self.permissions);
        }
        let asks = self.permissions == Permissions::Ask;
        for rule in &settings.rules {
            if asks && rule.verdict == RuleVerdict::Allow && !self.rules.contains(rule) {
                add(&mut fact.withdrawn, rule);
            }
        }
        for rule in &self.rules {
            if rule.verdict != RuleVerdict::Allow && !settings.rules.contains(rule) {
                add(&mut fact.rules, rule);
            }
        }
        for hook in self.hooks.iter().filter(|hook| !settings.hooks.contains(hook)) {
            add(&mut fact.hooks, hook);
        }
        for tool in &settings.tools {
            if let Some(effect) = self.effects.get(&tool.name)
                && tool.effect < *effect
            {
                add(&mut fact.effects, &ToolEffect { tool: tool.name.clone(), effect: *effect });
            }
        }
    }
}

/// Calls that are pending where a session is narrowed. What its log says about the rules that they
/// match may be false, and the core does not compare arguments: the engine does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallsToMatch {
    /// Settings of the turn, narrowed, with the rules.
    pub settings: Arc<Settings>,
    /// The calls.
    pub calls: Vec<CallId>,
}

/// Returns true if two declarations are of one hook about the same subjects.
fn asks_the_same(one: &HookSpec, other: &HookSpec) -> bool {
    (&one.name, one.point, &one.only) == (&other.name, other.point, &other.only)
}

fn add<T: Clone + PartialEq>(all: &mut Vec<T>, one: &T) {
    if !all.contains(one) {
        all.push(one.clone());
    }
}

impl PermissionsNarrowed {
    /// Narrows settings. The places of their rules and hooks stay as they are: facts name them by
    /// place.
    fn narrow(&self, settings: &mut Settings) {
        if self.mode == Some(Mode::Plan) {
            settings.mode = Mode::Plan;
        }
        if let Some(permissions) = self.permissions {
            settings.permissions = settings.permissions.min(permissions);
        }
        for rule in &mut settings.rules {
            if self.withdrawn.contains(rule) {
                rule.verdict = RuleVerdict::Ask;
            }
        }
        for rule in &self.rules {
            add(&mut settings.rules, rule);
        }
        for hook in &self.hooks {
            match settings.hooks.iter_mut().find(|other| asks_the_same(other, hook)) {
                Some(other) => other.clone_from(hook),
                None => settings.hooks.push(hook.clone()),
            }
        }
        for tool in &mut settings.tools {
            if let Some(effect) = self.effect(&tool.name) {
                tool.effect = tool.effect.max(effect);
            }
        }
    }

    /// Returns the effect class that this process knows of a tool, if the log's was another one.
    fn effect(&self, tool: &str) -> Option<EffectClass> {
        self.effects.iter().find(|one| one.tool == tool).map(|one| one.effect)
    }

    /// Narrows an open turn and its calls.
    fn narrow_turn(&self, turn: &mut Turn, at: Seq) {
        let before = turn.settings.clone();
        self.narrow(Arc::make_mut(&mut turn.settings));
        let now = turn.settings.clone();
        let passed = self.passes_answer(turn, &before);
        let changed = before.rules != now.rules;
        // A log that somebody else wrote may be wrong about the rules that its calls match.
        let unproven = changed || (self.again && !now.rules.is_empty());
        let unmatched = |call: &CallState| is_pending(call) && self.matched(call).is_none();
        if passed || changed || (unproven && turn.calls().iter().any(unmatched)) {
            turn.rules_changed = Some(at);
        }
        let settings = Narrowed { before: &before, now: &now, unproven, passed };
        let marks = turn.rules_changed == Some(at) && !passed;
        let hold = self.hold && !turn.dry_run;
        for call in turn.calls_mut() {
            let rules = self.matched(call).filter(|_| is_pending(call));
            if let Some(rules) = rules {
                call.apply_rules(&now, &rules.rules, &rules.possible_rules);
                call.matched = if marks { Some(at) } else { call.matched };
            }
            self.narrow_call(call, hold, &settings, rules.is_some());
        }
    }

    /// Returns true if hooks on the answer are new and its calls were decided on without them. They
    /// are not asked any more, and the calls that have not started are to be requested again.
    fn passes_answer(&self, turn: &mut Turn, before: &Settings) -> bool {
        let mut hooks = self.hooks.iter().filter(|hook| !before.hooks.contains(hook));
        let Some(started) = turn.stage.rules().answer() else {
            return false;
        };
        if turn.calls().is_empty() || !hooks.any(|hook| hook.matches(HookPoint::AfterAnswer, "")) {
            return false;
        }
        let (at, rounds) = (HookOccurrence::AfterAnswer { started }, &mut turn.hook_rounds);
        if rounds.open.as_ref().is_some_and(|round| round.at == at) {
            return false;
        }
        if rounds.finished.iter().all(|round| round.at != at) {
            let verdict = CombinedVerdict::Pass;
            rounds.finished.push(FinishedRound { at, verdict, contexts: Vec::new() });
        }
        true
    }

    /// Returns the rules that this process found a call to match, if it was compared.
    fn matched(&self, call: &CallState) -> Option<&CallRules> {
        self.matched.iter().find(|one| one.call == call.id)
    }

    /// Narrows a call. It is decided again if it has not started, and does not run again if it has.
    fn narrow_call(
        &self,
        call: &mut CallState,
        hold: bool,
        settings: &Narrowed<'_>,
        matched: bool,
    ) {
        let unseen = settings.unseen(&self.hooks, &call.tool);
        let waits = match call.progress {
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed => true,
            CallProgress::Denied { .. }
            | CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. } => false,
        };
        // It keeps its question, and is decided again before it goes on.
        let asks = call.asks_person();
        if unseen && waits {
            call.decide_again();
        }
        let CallValidity::Valid { effect, .. } = &mut call.validity else {
            return;
        };
        let old = *effect;
        *effect = old.max(self.effect(&call.tool).unwrap_or(old));
        let held = hold && *effect != EffectClass::ReadOnly;
        let (mode, _) = mode_verdict(settings.now, *effect);
        let lowered = mode != mode_verdict(settings.before, old).0;
        let verdict = permitted(settings.now, *effect, call.rule_verdict);
        // A log that somebody else wrote need not say that its call was allowed.
        call.held |= held && (waits || asks) && self.again;
        match &call.progress {
            CallProgress::Allowed if self.again => call.decide_again(),
            CallProgress::Allowed if lowered || matched => call.progress = CallProgress::Proposed,
            CallProgress::AwaitingResult { .. }
                if asks && (self.again || lowered || matched || unseen) =>
            {
                call.decide_after_answer();
            }
            CallProgress::AwaitingApproval { .. } if verdict == Verdict::Deny => {
                call.hook_rounds.open = None;
                call.progress = CallProgress::Proposed;
            }
            CallProgress::Running { .. } | CallProgress::Reconciling { .. } => {
                let compared = self.again || settings.unproven;
                let refused = compared && (held || verdict != Verdict::Allow);
                let unknown = settings.unproven && !matched;
                call.barred |= lowered || *effect != old || unknown || refused || unseen;
            }
            CallProgress::Allowed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Proposed
            | CallProgress::Denied { .. }
            | CallProgress::Done { .. } => {}
        }
    }

    /// Returns true if this changes more of a turn than another fact.
    fn changes_more_than(&self, other: &Self, turn: &Turn, at: Seq) -> bool {
        let narrowed = |fact: &Self| {
            let mut turn = turn.clone();
            fact.narrow_turn(&mut turn, at);
            turn
        };
        narrowed(self) != narrowed(other)
    }
}

/// Settings of a turn before and after they were narrowed.
struct Narrowed<'a> {
    before: &'a Settings,
    now: &'a Settings,
    /// True if the rules that its calls match are unknown unless they were compared.
    unproven: bool,
    /// True if hooks on the answer are new and are not asked about it.
    passed: bool,
}

impl Narrowed<'_> {
    /// Returns true if hooks that decide about a call of this tool were not asked, of these or of
    /// those on the answer.
    fn unseen(&self, hooks: &[HookSpec], tool: &str) -> bool {
        let mut hooks = hooks.iter();
        let unseen = hooks.any(|hook| {
            let decides = hook.matches(HookPoint::BeforeTool, tool)
                || hook.matches(HookPoint::PermissionRequest, tool);
            decides && !self.before.hooks.contains(hook)
        });
        unseen || self.passed
    }
}

/// Returns true if a run of the call may start or start again.
fn is_pending(call: &CallState) -> bool {
    let valid = matches!(call.validity, CallValidity::Valid { .. });
    valid
        && match call.progress {
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Running { .. } => true,
            CallProgress::AwaitingResult { .. } => call.asks_person(),
            CallProgress::Denied { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. } => false,
        }
}

impl CallState {
    /// Returns a call of which nothing runs to its beginning: its hooks are asked again. What a
    /// suspended run left stays.
    pub(crate) fn decide_again(&mut self) {
        self.hook_rounds = HookRounds::default();
        self.contexts.clear();
        self.outside_sandbox = self.outside_sandbox.map(|_| OutsideSandbox::default());
        self.progress = CallProgress::Proposed;
    }
}

impl Session {
    /// Returns the calls that an earlier process allowed, and that a new one starts as it takes the
    /// session over unless it decides otherwise. Only those that may change something.
    pub fn recovered_calls(&self) -> impl Iterator<Item = &CallState> {
        let calls = self.turn().filter(|turn| turn.stop.is_none()).map(|turn| turn.calls());
        calls.unwrap_or_default().iter().filter(|call| match call.progress {
            CallProgress::Allowed => !call.is_read_only(),
            CallProgress::Running { plan: false, .. } => {
                !call.is_read_only() && !call.is_effectful()
            }
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Denied { .. }
            | CallProgress::Running { plan: true, .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. } => false,
        })
    }
}

/// Narrows the settings of the session and of its open turn, and the turn's calls.
pub(crate) fn on_narrowed(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &PermissionsNarrowed,
) {
    let known = session.turn().map_or(&session.settings, |turn| &turn.settings);
    let mut hooks = fact.hooks.iter().filter(|hook| !known.hooks.contains(hook));
    if hooks.any(|hook| hook.matches(HookPoint::PromptSubmitted, "")) {
        queue::discard_all_replies(session);
    }
    fact.narrow(Arc::make_mut(&mut session.settings));
    if let Some(turn) = session.turn_mut() {
        fact.narrow_turn(turn, recorded.seq);
    }
}
