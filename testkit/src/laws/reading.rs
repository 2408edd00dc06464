//! Reading a log without the core: facts by position, turns, the tools and the arguments of calls.

use windlass_core::{
    ArgumentsDigest, CallId, CallItem, Delivery, DetachedEndPolicy, Fact, HookDecided,
    HookFailurePolicy, HookOccurrence, HookSpec, HookTopic, HookVerdict, InputAccepted, InputId,
    InputQueued, Item, PROGRAM_TOOL, RecordedFact, Seq, Settings, Sha256, ToolSpec, TurnId,
    TurnOpened,
};
use windlass_ports::arguments_sha256;

/// The fact at a position.
pub(super) fn at(log: &[RecordedFact], seq: Seq) -> Option<&RecordedFact> {
    let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
    log.get(index).filter(|recorded| recorded.seq == seq)
}

/// The opening of a turn.
pub(super) fn opening(log: &[RecordedFact], turn: TurnId) -> Option<(&RecordedFact, &TurnOpened)> {
    let recorded = at(log, Seq(turn.0))?;
    let Fact::TurnOpened(fact) = &recorded.fact else {
        return None;
    };
    Some((recorded, fact))
}

/// The settings that a fact holds.
pub(super) fn settings(log: &[RecordedFact], seq: Seq) -> Option<&Settings> {
    at(log, seq)?.fact.settings().map(|settings| &**settings)
}

/// The settings that a turn is frozen with.
pub(super) fn frozen(log: &[RecordedFact], turn: TurnId) -> Option<&Settings> {
    settings(log, opening(log, turn)?.1.settings)
}

/// The item that brought a call.
pub(super) fn call(log: &[RecordedFact], call: CallId) -> Option<(&RecordedFact, &CallItem)> {
    let recorded = at(log, Seq(call.0))?;
    if let Fact::ProgramCalled(fact) = &recorded.fact {
        return Some((recorded, &fact.item));
    }
    if let Fact::InputAccepted(InputAccepted { call: Some(item), .. }) = &recorded.fact {
        return Some((recorded, item));
    }
    let Fact::ItemAdded(fact) = &recorded.fact else {
        return None;
    };
    let Item::Call(item) = &fact.item else {
        return None;
    };
    Some((recorded, item))
}

/// Returns true if a user made the call.
pub(super) fn is_command(log: &[RecordedFact], id: CallId) -> bool {
    at(log, Seq(id.0)).is_some_and(|recorded| matches!(&recorded.fact, Fact::InputAccepted(_)))
}

/// The arguments that hooks or people put in the place of a call's own.
pub(super) fn edited(log: &[RecordedFact], id: CallId) -> Option<&str> {
    log.iter().rev().find_map(|recorded| {
        let edit = if let Fact::ApprovalAnswered(fact) = &recorded.fact {
            fact.edit.as_ref().filter(|_| fact.call == id)
        } else if let Fact::HookDecided(fact) = &recorded.fact {
            let about = || place(log, fact).as_ref().and_then(HookOccurrence::call);
            fact.edit.as_ref().filter(|_| about() == Some(id))
        } else {
            None
        };
        edit.map(|edit| &*edit.text)
    })
}

/// Returns true if a waiting input is a user's command.
pub(super) fn is_queued_command(log: &[RecordedFact], input: InputId) -> bool {
    let queued = at(log, Seq(input.0)).map(|recorded| &recorded.fact);
    matches!(queued, Some(Fact::InputQueued(InputQueued { command: Some(_), .. })))
}

/// The tool that a call names, with the settings of its turn.
pub(super) fn tool(
    log: &[RecordedFact],
    id: CallId,
) -> Option<(&TurnOpened, &Settings, &ToolSpec)> {
    let (recorded, item) = call(log, id)?;
    let (_, turn) = opening(log, recorded.turn?)?;
    let settings = settings(log, turn.settings)?;
    Some((turn, settings, settings.tool(&item.name)?))
}

/// Where a hook was asked that has decided.
pub(super) fn place(log: &[RecordedFact], decided: &HookDecided) -> Option<HookOccurrence> {
    let Fact::HooksAsked(fact) = &at(log, decided.asked)?.fact else {
        return None;
    };
    Some(fact.at)
}

/// The hooks that apply after a fact: those of the open turn or of the session, and those of the process
/// that were added since.
pub(super) fn hooks(log: &[RecordedFact], until: &RecordedFact) -> Vec<HookSpec> {
    let (mut session, mut turn) = (Vec::<HookSpec>::new(), None::<Vec<HookSpec>>);
    for recorded in log.iter().take_while(|recorded| recorded.seq <= until.seq) {
        if let Some(settings) = recorded.fact.settings() {
            session.clone_from(&settings.hooks);
        }
        if let Fact::TurnOpened(_) = &recorded.fact {
            turn = Some(session.clone());
        }
        if let Fact::TurnSettled(_) = &recorded.fact {
            turn = None;
        }
        if let Fact::PermissionsNarrowed(fact) = &recorded.fact {
            for all in [Some(&mut session), turn.as_mut()].into_iter().flatten() {
                fact.hooks.iter().for_each(|hook| add_hook(all, hook));
            }
        }
    }
    turn.unwrap_or(session)
}

fn add_hook(all: &mut Vec<HookSpec>, hook: &HookSpec) {
    let same = |other: &&mut HookSpec| {
        (&other.name, other.point, &other.only) == (&hook.name, hook.point, &hook.only)
    };
    match all.iter_mut().find(same) {
        Some(other) => other.clone_from(hook),
        None => all.push(hook.clone()),
    }
}

/// What a hook's verdict counts as, by how these hooks are declared.
pub(super) fn counts_as(hooks: &[HookSpec], decided: &HookDecided) -> HookVerdict {
    let place = usize::try_from(decided.hook).unwrap_or(usize::MAX);
    let declared: Option<&HookSpec> = hooks.get(place);
    match (decided.verdict, declared.map(|hook| hook.on_failure)) {
        (HookVerdict::Failed, Some(HookFailurePolicy::Open)) => HookVerdict::Pass,
        (HookVerdict::Failed, Some(HookFailurePolicy::Closed) | None) => HookVerdict::Deny,
        (
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask
            | HookVerdict::Deny
            | HookVerdict::Halt
            | HookVerdict::Overrun,
            _,
        ) => decided.verdict,
    }
}

/// Returns true if a hook that has decided answers the model's answer, or the end of the turn.
pub(super) fn answers_the_model(log: &[RecordedFact], decided: Seq) -> bool {
    let recorded = at(log, decided);
    let Some(Fact::HookDecided(fact)) = recorded.map(|recorded| &recorded.fact) else {
        return false;
    };
    let hooks = recorded.map(|recorded| hooks(log, recorded));
    let verdict = hooks.map(|hooks| counts_as(&hooks, fact));
    if verdict != Some(HookVerdict::Deny) {
        return false;
    }
    let topic = place(log, fact).map(|at| at.point().properties().topic);
    topic == Some(HookTopic::Answer)
}

/// The digest of arguments, in the form that their call or edit has.
pub(super) fn digest(arguments: &str, sha256: Option<Sha256>) -> ArgumentsDigest {
    sha256.map_or_else(
        || ArgumentsDigest::without_sha256(arguments),
        |_| ArgumentsDigest::Sha256(arguments_sha256(arguments)),
    )
}

/// Returns true if a call is a program.
pub(super) fn is_program(log: &[RecordedFact], id: CallId) -> bool {
    let Some((recorded, item)) = call(log, id) else {
        return false;
    };
    let settings = recorded.turn.and_then(|turn| frozen(log, turn));
    let programs = settings.is_some_and(|settings| settings.options.program.is_some());
    programs && item.name == PROGRAM_TOOL && matches!(recorded.fact, Fact::ItemAdded(_))
}

/// Returns true if a hook that has decided was asked about the end of a turn.
pub(super) fn at_the_end(log: &[RecordedFact], decided: Seq) -> bool {
    let Some(Fact::HookDecided(fact)) = at(log, decided).map(|recorded| &recorded.fact) else {
        return false;
    };
    let place = place(log, fact);
    matches!(place, Some(HookOccurrence::Stop { .. } | HookOccurrence::SubTurnStop { .. }))
}

/// An input that waits by a log.
#[derive(Debug)]
struct Waiting {
    id: InputId,
    delivery: Delivery,
    /// The result of a detached child: true if it opens a turn.
    result: Option<bool>,
}

/// The inputs that wait by a log, in their order.
#[derive(Debug, Default)]
pub(super) struct Queue(Vec<Waiting>);

impl Queue {
    /// Reads a fact. Returns false if it speaks of an input that does not wait.
    pub(super) fn apply(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> bool {
        if let Fact::InputQueued(fact) = &recorded.fact {
            self.0.push(Waiting {
                id: InputId(recorded.seq.0),
                delivery: fact.delivery,
                result: fact.result_of.map(|call| wakes(log, call)),
            });
        }
        if let Fact::InputEdited(fact) = &recorded.fact {
            return self.place(fact.input).is_some();
        }
        if let Fact::InputMoved(fact) = &recorded.fact {
            let Some(place) = self.place(fact.input) else {
                return false;
            };
            let moved = self.0.remove(place);
            let before = fact.before.map(|before| self.place(before));
            match before {
                Some(Some(before)) => self.0.insert(before, moved),
                Some(None) => return false,
                None => self.0.push(moved),
            }
        }
        let Some(input) = recorded.fact.dequeued_input() else {
            return true;
        };
        let place = self.place(input);
        place.map(|place| self.0.remove(place)).is_some()
    }

    fn place(&self, input: InputId) -> Option<usize> {
        self.0.iter().position(|waiting| waiting.id == input)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = InputId> {
        self.0.iter().map(|waiting| waiting.id)
    }

    /// The input that the running turn admits next: a user's before the results of children.
    pub(super) fn steer(&self) -> Option<InputId> {
        let results = || self.steers().find(|waiting| waiting.result.is_some());
        self.user_steer().or_else(|| results().map(|waiting| waiting.id))
    }

    /// The first input of a user that is meant for the running turn.
    pub(super) fn user_steer(&self) -> Option<InputId> {
        self.steers().find(|waiting| waiting.result.is_none()).map(|waiting| waiting.id)
    }

    /// How many inputs of users wait.
    pub(super) fn of_users(&self) -> u64 {
        self.0.iter().filter(|waiting| waiting.result.is_none()).count() as u64
    }

    fn steers(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter().filter(|waiting| waiting.delivery == Delivery::Steer)
    }

    /// The input that opens the next turn.
    pub(super) fn next(&self) -> Option<InputId> {
        let said = || self.0.iter().filter(|waiting| waiting.result.is_none());
        let soon = said().find(|waiting| waiting.delivery != Delivery::Turn);
        let wakes = || self.0.iter().find(|waiting| waiting.result == Some(true));
        soon.or_else(|| said().next()).or_else(wakes).map(|waiting| waiting.id)
    }
}

/// True if the result of a call's agent opens a turn, as the agent is declared.
pub(super) fn wakes(log: &[RecordedFact], call: CallId) -> bool {
    let agent = tool(log, call).and_then(|(_, _, tool)| tool.agent.as_deref());
    agent.is_some_and(|agent| {
        agent.can_detach() && agent.when_detached_ends == DetachedEndPolicy::Wake
    })
}
