//! Law 15: a denied call never starts.
//!
//! A call starts only after a decision that allows it, or after one that has a person asked who
//! allows it; each decision and each answer is about exactly the arguments that stand then, with
//! what hooks and people put in their place. No denial lies before a start: of the policy, of a
//! rule, of a hook, or of a person, nor a rule that denies the arguments that it runs with.
//!
//! In plan mode and with read-only permissions nothing but read-only tools starts; where a person
//! must be asked, by the permissions or by a rule, nothing starts unasked unless a hook or a rule
//! of the user allows it; so it is where a rule that denies may be meant; in a dry run what would change something is only planned. A call that
//! cannot be run (no such tool, broken arguments) does not start, nor does the one by which a model
//! says that its goal is met.
//!
//! A call that asks to run outside of the sandbox starts only after a person approved it, whatever
//! else allows it; a person who was asked about a call in the sandbox takes none out.
//!
//! A user's command needs no question, in plan mode neither: whoever makes a call allows it.
//!
//! A deferred tool runs only in an answer that began after a search had found it, or for a user.
//!
//! It kills: a policy that allows too much, a start that does not wait for the decision, a denial
//! that a later word undoes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::{
    ArgumentsDigest, CallDecided, CallId, CallItem, CallStarted, Edit, EffectClass, Fact,
    FactGroup, GOAL_TOOL, History, HookDecided, HookFact, HookOccurrence, HookVerdict, InputFact,
    Item, Mode, OfferedTools, PROGRAM_TOOL, PermissionFact, Permissions, ProgramFact, RecordedFact,
    RuleVerdict, RunFact, SEARCH_TOOLS_TOOL, SampleFact, Scope, Settings, TurnFact, Verdict,
    render,
};

use super::{Held, hold, reading};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first call that started and should not have.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut calls = BTreeMap::<CallId, Standing>::new();
    let (mut found, mut offered_tools) = (BTreeSet::new(), BTreeSet::new());
    for recorded in log {
        match recorded.fact.group() {
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                if let Item::Call(item) = &fact.item {
                    let id = CallId(recorded.seq.0);
                    calls.insert(id, Standing::of(log, recorded, item, &offered_tools));
                }
            }
            FactGroup::Input(InputFact::InputAccepted(fact)) => {
                if let Some(item) = &fact.call {
                    let id = CallId(recorded.seq.0);
                    calls.insert(id, Standing::of(log, recorded, item, &offered_tools));
                }
            }
            FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
                let id = CallId(recorded.seq.0);
                calls.insert(id, Standing::of(log, recorded, &fact.item, &offered_tools));
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => {
                let place = reading::place(log, fact);
                let call = place.as_ref().and_then(HookOccurrence::call);
                if let Some(call) = call.and_then(|call| calls.get_mut(&call)) {
                    call.hear(log, recorded, fact);
                }
            }
            FactGroup::Permission(PermissionFact::CallDecided(fact)) => {
                let call = calls.get_mut(&fact.call);
                about(recorded, fact.call, call.as_deref(), fact.arguments)?;
                call.into_iter().for_each(|call| call.decide(fact));
            }
            FactGroup::Permission(PermissionFact::ApprovalAsked(fact)) => {
                let call = calls.get_mut(&fact.call);
                about(recorded, fact.call, call.as_deref(), fact.arguments)?;
            }
            FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
                let call = calls.get_mut(&fact.call);
                about(recorded, fact.call, call.as_deref(), fact.arguments)?;
                let Some(call) = call else { continue };
                call.denied |= fact.verdict != Verdict::Allow;
                call.answered = true;
                call.approved = matches!(*fact.by, Scope::Principal { .. });
                let asked_outside = call.outside;
                if let Some(edit) = &fact.edit {
                    call.edit(edit);
                }
                call.denied |= call.outside && !asked_outside;
            }
            FactGroup::Run(RunFact::CallStarted(fact)) => {
                let may = calls.get(&fact.call).map(|call| call.may_start(fact));
                let may = may.unwrap_or(Err("it is no call"));
                hold(15, may.is_ok(), || {
                    let why = may.err().unwrap_or_default();
                    format!("{} starts call {}: {why}", recorded.seq, fact.call)
                })?;
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                if calls.get(&fact.call).is_some_and(|call| call.searches) {
                    found.extend(fact.observation.offers.iter().cloned());
                }
            }
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
                reading::settings(log, fact.settings).map_or(Ok(()), |it| offered(recorded, it))?;
            }
            FactGroup::Sample(SampleFact::SampleStarted(_)) => offered_tools.clone_from(&found),
            FactGroup::Program(ProgramFact::ProgramRun(_))
            | FactGroup::Hook(HookFact::HooksAsked(_))
            | FactGroup::Run(RunFact::CallSuspended(_) | RunFact::CallResumed(_))
            | FactGroup::Sample(SampleFact::SampleEnded(_) | SampleFact::SampleCut(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(
                InputFact::InputQueued(_)
                | InputFact::InputBlocked(_)
                | InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputWithdrawn(_),
            )
            | FactGroup::Turn(TurnFact::InterruptRequested(_) | TurnFact::TurnSettled(_))
            | FactGroup::Context(_)
            | FactGroup::Compaction(_) => {}
        }
    }
    Ok(())
}

/// Checks the tools that the requests of a turn with these settings offer.
fn offered(at: &RecordedFact, settings: &Settings) -> Held {
    if settings.options.program.is_some() {
        return Ok(());
    }
    let reads = settings.mode == Mode::Plan || settings.permissions == Permissions::ReadOnly;
    let all = settings.options.offered == OfferedTools::All || !reads;
    let shown = settings.tools.iter().filter(|tool| !tool.deferred);
    let may = shown.filter(|tool| all || tool.effect == EffectClass::ReadOnly);
    let may: Vec<&str> = may.map(|tool| tool.name.as_str()).collect();
    let asked = render(&History::default(), &Arc::new(settings.clone()), &BTreeSet::new());
    let shown: Vec<&str> = asked.settings.tools.iter().map(|tool| tool.name.as_str()).collect();
    hold(15, may == shown, || {
        format!("the turn of {} offers {shown:?}, and what may run is {may:?}", at.seq)
    })
}

fn about(at: &RecordedFact, id: CallId, call: Option<&Standing>, named: ArgumentsDigest) -> Held {
    let stands = call.map(|call| call.arguments);
    hold(15, stands == Some(named), || {
        format!("{} is about other arguments than those of call {id}", at.seq)
    })
}

/// How a call stands.
struct Standing<'a> {
    settings: Option<&'a Settings>,
    /// What running it does to the world, where there is such a tool.
    effect: Option<EffectClass>,
    /// True if a user made the call.
    command: bool,
    dry_run: bool,
    /// The arguments that stand.
    arguments: ArgumentsDigest,
    fault: bool,
    /// True if it searches deferred tools.
    searches: bool,
    /// True if its tool is deferred, and no search had found it before its answer began.
    unfound: bool,
    /// The rules that they meet.
    rules: Vec<u32>,
    /// The rules that they may meet.
    possible_rules: Vec<u32>,
    /// True if they ask to run outside of the sandbox.
    outside: bool,
    denied: bool,
    decided: Option<Verdict>,
    /// True if a person has allowed it.
    approved: bool,
    /// True if a person was asked and has answered.
    answered: bool,
    /// True if a hook says that nobody need be asked.
    allowed: bool,
}

impl<'a> Standing<'a> {
    fn of(
        log: &'a [RecordedFact],
        recorded: &'a RecordedFact,
        item: &CallItem,
        found: &BTreeSet<String>,
    ) -> Self {
        let opening = recorded.turn.and_then(|turn| reading::opening(log, turn));
        let settings = opening.and_then(|(_, turn)| reading::settings(log, turn.settings));
        let tool = settings.and_then(|settings| settings.tool(&item.name));
        let runs = item.name != GOAL_TOOL;
        let program = settings.is_some_and(|settings| settings.options.program.is_some());
        let command = matches!(recorded.fact, Fact::InputAccepted(_));
        let waits = tool.is_some_and(|tool| tool.deferred) && !program && !command;
        let program = program && matches!(recorded.fact, Fact::ItemAdded(_));
        Self {
            settings,
            effect: match program {
                true => (item.name == PROGRAM_TOOL).then_some(EffectClass::ReadOnly),
                false => tool.filter(|_| runs).map(|tool| tool.effect),
            },
            command,
            dry_run: opening.is_some_and(|(_, turn)| turn.dry_run),
            arguments: reading::digest(&item.arguments, item.sha256),
            fault: item.fault.is_some(),
            searches: item.name == SEARCH_TOOLS_TOOL,
            unfound: waits && !found.contains(&item.name),
            rules: item.rules.clone(),
            possible_rules: item.possible_rules.clone(),
            outside: item.outside_sandbox,
            denied: false,
            decided: None,
            approved: false,
            answered: false,
            allowed: false,
        }
    }

    fn edit(&mut self, edit: &Edit) {
        self.arguments = reading::digest(&edit.text, edit.sha256);
        self.fault = edit.fault.is_some();
        self.rules = edit.rules.clone();
        self.possible_rules = edit.possible_rules.clone();
        self.outside = edit.outside_sandbox;
    }

    fn hear(&mut self, log: &[RecordedFact], recorded: &RecordedFact, fact: &HookDecided) {
        if let Some(edit) = &fact.edit {
            self.edit(edit);
        }
        // What comes after a call has run is no word on whether it may.
        if let Some(HookOccurrence::AfterTool { .. }) = reading::place(log, fact) {
            return;
        }
        match reading::counts_as(&reading::hooks(log, recorded), fact) {
            HookVerdict::Allow => self.allowed = true,
            HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Overrun => self.denied = true,
            HookVerdict::Pass | HookVerdict::Ask | HookVerdict::Failed => {}
        }
    }

    fn decide(&mut self, fact: &CallDecided) {
        self.denied |= fact.verdict == Verdict::Deny;
        self.decided = Some(fact.verdict);
    }

    /// The strongest rule of these.
    fn strongest(&self, places: &[u32]) -> Option<RuleVerdict> {
        let rules = &self.settings?.rules;
        let place = |place: &u32| usize::try_from(*place).ok();
        let met = places.iter().filter_map(place);
        met.filter_map(|place| rules.get(place)).map(|rule| rule.verdict).max()
    }

    /// The strongest rule that the arguments meet. One that denies and that they may meet asks.
    fn ruled(&self) -> Option<RuleVerdict> {
        let possible = self.strongest(&self.possible_rules);
        let asks = possible.filter(|it| *it == RuleVerdict::Deny).map(|_| RuleVerdict::Ask);
        self.strongest(&self.rules).max(asks)
    }

    fn may_start(&self, fact: &CallStarted) -> Result<(), &'static str> {
        let (Some(settings), Some(effect)) = (self.settings, self.effect) else {
            return Err("there is no such tool to run");
        };
        let ruled = self.ruled();
        if self.fault {
            return Err("its arguments cannot be used");
        }
        if self.unfound {
            return Err("no search has found its tool");
        }
        if self.denied || ruled == Some(RuleVerdict::Deny) {
            return Err("it was denied");
        }
        match self.decided {
            Some(Verdict::Allow) => {}
            Some(Verdict::Ask) if self.answered || self.allowed => {}
            Some(Verdict::Ask) => return Err("nobody has allowed it"),
            Some(Verdict::Deny) | None => return Err("nothing has allowed it"),
        }
        let changes = effect != EffectClass::ReadOnly;
        let plans = settings.mode == Mode::Plan && !self.command;
        let closed = plans || settings.permissions == Permissions::ReadOnly;
        if changes && closed {
            return Err("only read-only tools run in this turn");
        }
        let must_ask = match ruled {
            Some(RuleVerdict::Ask) => true,
            Some(RuleVerdict::Allow | RuleVerdict::Deny) => false,
            None => changes && settings.permissions == Permissions::Ask,
        };
        if must_ask && !self.command && !self.answered && !self.allowed {
            return Err("a person must be asked before");
        }
        if self.outside && !self.approved {
            return Err("a person must approve that it leaves the sandbox");
        }
        if fact.plan != (changes && self.dry_run) {
            return Err("a dry run plans what changes something, and nothing else");
        }
        Ok(())
    }
}
