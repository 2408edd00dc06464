//! One fact that no engine would write, at one state, and what is told of it; and states that only a
//! log that ends in the middle of a step shows.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_core::{
    AfterDenial, ApprovalAnswer, CallId, Compacted, ContextSource, Delivery, Edit, EffectKey, Fact,
    HookDecided, HookOccurrence, HookVerdict, HooksAsked, Incoming, Input, InputBlocked, InputId,
    InterruptRequested, InterruptSource, Limits, Phase, RecordedFact, Reject, Retained, SampleCut,
    SampleStarted, Scope, Seq, Session, SessionStart, Stage, StopTiming, TurnOutcome, TurnSettled,
    VisiblePart, decide, desired_effects, evolve,
};
use windlass_testkit::world::{Script, Transitions, run};

use super::placed;

fn log(script: &str) -> Vec<RecordedFact> {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().log().to_vec()
}

fn session(script: &str) -> Session {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().session().clone()
}

/// The state with one more fact in its open turn, or why it does not fit there.
fn with(session: &Session, fact: Fact) -> Result<Session, String> {
    let turn = session.turn().unwrap();
    let recorded = RecordedFact {
        format: windlass_core::FactFormat::CURRENT,
        session: session.id.clone(),
        seq: session.next,
        turn: Some(turn.id),
        ts: turn.opened_at,
        cause: None,
        fact,
    };
    evolve(session.clone(), &recorded).map_err(|misfit| misfit.reason)
}

fn why(session: &Session, fact: Fact) -> String {
    with(session, fact).unwrap_err()
}

fn asked(at: HookOccurrence, hooks: &[u32], attempt: u32) -> Fact {
    let hooks = hooks.to_vec();
    Fact::HooksAsked(HooksAsked { at, hooks, attempt, all: asks_all(at) })
}

fn asks_all(at: HookOccurrence) -> bool {
    at.point().properties().after_denial == AfterDenial::AskOthers
}

fn said(script: &str) -> HookDecided {
    let log = log(script);
    let said = log.iter().rev().find_map(|recorded| {
        let Fact::HookDecided(fact) = &recorded.fact else {
            return None;
        };
        Some(fact.clone())
    });
    said.unwrap()
}

fn interrupted() -> Fact {
    Fact::InterruptRequested(InterruptRequested {
        by: InterruptSource::Person,
        scope: Arc::new(Scope::local("person")),
        reason: String::from("enough"),
        when: StopTiming::Now,
        key: None,
    })
}

const CALL: CallId = CallId(6);

#[test]
fn hooks_are_asked_again_all_together_and_once_more() {
    let state = session("open hooks=before_sample:parallel,before_sample:parallel\nsend hello");
    let at = HookOccurrence::BeforeSample { sample: 1 };
    let others = "these are not the hooks to be asked now";
    assert_eq!(why(&state, asked(at, &[0, 5], 2)), others);
    assert_eq!(why(&state, asked(at, &[0, 1], 3)), others);
    assert!(with(&state, asked(at, &[0, 1], 2)).is_ok());
    assert!(with(&state, asked(at, &[1], 2)).is_ok());
}

#[test]
fn only_a_hook_that_may_change_a_prompt_changes_it() {
    let nothing = "this hook changes nothing";
    let edit = |fact: HookDecided| {
        let edit = Some(Edit::unchecked("other".into()));
        Fact::HookDecided(HookDecided { edit, ..fact })
    };
    let open = "open hooks=prompt_submitted\nsend hello";
    let denied = said(&format!("{open}\nhook 0 deny no"));
    assert_eq!(denied.verdict, HookVerdict::Deny);
    assert_eq!(why(&session(open), edit(denied)), nothing);
    let passed = said(&format!("{open}\nhook 0 pass"));
    assert!(with(&session(open), edit(passed)).is_ok());
    let open = "open hooks=prompt_submitted:parallel\nsend hello";
    let passed = said(&format!("{open}\nhook 0 pass"));
    assert_eq!(why(&session(open), edit(passed)), nothing);
}

#[test]
fn a_hook_answers_the_question_that_it_was_asked() {
    let open = "open hooks=prompt_submitted,before_sample\nsend hello";
    let said = said(&format!("{open}\nhook 0 pass"));
    let other = HookDecided { hook: 1, name: String::from("h1"), ..said.clone() };
    let earlier = HookDecided { asked: Seq(3), ..said };
    let state = session(open);
    for fact in [other, earlier] {
        assert_eq!(why(&state, Fact::HookDecided(fact)), "no such hook is asked");
    }
}

#[test]
fn hooks_are_asked_where_the_session_stands() {
    let nowhere = "the session does not stand there";
    let runs = session("open hooks=after_tool,stop\nsend hello\ncall read {}\nend stop");
    assert_eq!(why(&runs, asked(HookOccurrence::AfterTool { call: CALL }, &[0], 1)), nowhere);
    let stop = HookOccurrence::Stop { started: Seq(5), continued: 0 };
    assert_eq!(why(&runs, asked(stop, &[1], 1)), nowhere);
    let waits = session("open hooks=before_tool\nsend hello\ncall write {}");
    let before = || asked(HookOccurrence::BeforeTool { call: CALL }, &[0], 2);
    assert!(with(&waits, before()).is_ok());
    let stopped = with(&waits, interrupted()).unwrap();
    assert_eq!(why(&stopped, before()), nowhere);
    let ready = session("open hooks=before_sample,prompt_submitted@other\nsend hello");
    let input = InputId(Seq(9).0);
    assert_eq!(why(&ready, asked(HookOccurrence::PromptSubmitted { input }, &[1], 1)), nowhere);
}

#[test]
fn a_session_that_is_resumed_says_so_before_the_model_is_asked_and_not_later() {
    let state =
        session("open hooks=session_start\nsend hello\nhook 0 pass\ncall put {}\nend stop\ncrash");
    assert!(matches!(state.turn().unwrap().stage, Stage::Executing { .. }));
    let start = SessionStart::Resume;
    assert_eq!(state.start, Some(start));
    let fact = asked(HookOccurrence::SessionStart { start }, &[0], 1);
    assert_eq!(why(&state, fact), "the session does not stand there");
}

#[test]
fn nothing_is_told_to_the_model_once_the_turn_is_to_stop() {
    let log = log("open hooks=before_sample\nsend hello\nhook 0 pass context=note");
    let told = |recorded: &&RecordedFact| matches!(recorded.fact, Fact::ContextInjected(_));
    let told = log.iter().find(told).unwrap();
    let states = super::states(&log);
    let place = usize::try_from(told.seq.0).unwrap() - 2;
    let (state, _) = &states[place];
    assert!(evolve(state.clone(), told).is_ok());
    let stopped = with(state, interrupted()).unwrap();
    let late = evolve(stopped.clone(), &placed(&stopped, told)).unwrap_err();
    assert_eq!(late.reason, "nothing is told to the model here");
}

#[test]
fn a_compaction_that_leaves_nine_tenths_is_enough_and_one_byte_more_is_not() {
    let log =
        log("open window=1500 strategy=slide\nsend x*800\ncall read {}\nend stop\ndone 0 a*1500\n\
         call read {}\nend stop\ndone 0 b*1500\ncall read {}\nend stop\ndone 0 c*1500\ncompacted");
    let states = super::states(&log);
    let (place, fact) = log
        .iter()
        .enumerate()
        .find_map(|(place, recorded)| {
            let Fact::Compacted(fact) = &recorded.fact else {
                return None;
            };
            Some((place - 1, fact.clone()))
        })
        .unwrap();
    let (state, _) = &states[place];
    let before = state.visible.bytes;
    let left = |bytes| {
        let shown = VisiblePart { bytes, ..fact.visible };
        let fact = Compacted { visible: shown, ..fact.clone() };
        let state = with(state, Fact::Compacted(fact)).unwrap();
        state.turn().unwrap().stage.clone()
    };
    assert!(matches!(left(before - before / 10), Stage::Ready(_)));
    assert!(matches!(left(before - before / 10 + 1), Stage::Ending(TurnOutcome::Exhausted { .. })));
}

const ASKED: &str = "open permissions=ask\nsend hello\ncall write {}\nend stop";

#[test]
fn nobody_is_asked_any_more_in_a_log_that_ends_with_the_stop() {
    let state = session(ASKED);
    let question = EffectKey::Approval { call: CallId(7), asked: Seq(9) };
    let keys =
        |state: &Session| desired_effects(state).iter().map(|one| one.key).collect::<Vec<_>>();
    assert_eq!(keys(&state), [question]);
    let stopped = with(&state, interrupted()).unwrap();
    assert_eq!(keys(&stopped), []);
    let allowed = Input::ApproverAnswered {
        key: question,
        scope: Scope::local("person"),
        answer: ApprovalAnswer::Allow { edit: None },
    };
    let stale = taken(&stopped, allowed);
    assert!(matches!(stale, Err(Reject::Stale(key)) if key == question));
}

fn taken(session: &Session, input: Input) -> Result<Vec<Fact>, Reject> {
    let at = session.turn().map_or(windlass_core::Timestamp(1_000_000), |turn| turn.opened_at);
    let stamped = Incoming { at, entropy: 0, input };
    let drafts = decide(session, &Limits::default(), stamped)?;
    Ok(drafts.into_iter().map(|draft| draft.fact).collect())
}

/// What follows from one more input, where the model answers with so many tokens at most.
fn with_answers_of(script: &str, tokens: u64) -> Vec<Fact> {
    let mut state = session(script);
    state.settings =
        Arc::new((*state.settings).clone().with(|it| it.max_output_tokens = Some(tokens)));
    let send = Input::Send {
        scope: Scope::local("person"),
        text: String::from("more"),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        dry_run: false,
        turn: None,
    };
    taken(&state, send).unwrap()
}

#[test]
fn a_long_answer_takes_half_of_the_window_at_most() {
    let compacts = |bytes: u32| {
        let script = format!("open window=1500\nsend x*1600\ntext y*{bytes}\nend stop");
        let facts = with_answers_of(&script, 100_000);
        let compacts = |fact: &Fact| matches!(fact, Fact::CompactionStarted(_));
        facts.iter().any(compacts)
    };
    let least = (1..600).find(|bytes| compacts(*bytes));
    expect_test::expect!["Some(236)"].assert_eq(&format!("{least:?}"));
}

#[test]
fn the_longest_answer_is_set_aside() {
    let set_aside = |tokens| {
        let facts = with_answers_of("open tokens=100000", tokens);
        let started = facts.iter().find_map(|fact| {
            let Fact::SampleStarted(SampleStarted { reserved, .. }) = fact else {
                return None;
            };
            Some(reserved.tokens)
        });
        started.unwrap()
    };
    assert_eq!(set_aside(700), set_aside(0) + 700);
}

#[test]
fn no_more_names_of_lasting_context_are_kept_than_the_limit_says() {
    let mut script = String::from("open context_bytes=1000000");
    for input in 0..5 {
        write!(script, "\nsend").unwrap();
        for part in 0..64 {
            write!(script, " ctx=P{}:one", input * 64 + part).unwrap();
        }
        write!(script, " hello\ntext a\nend stop").unwrap();
    }
    assert_eq!(session(&script).known_context.len(), 256);
}

#[test]
fn a_turn_is_asked_once_to_stop_after_its_step() {
    let after = || {
        Fact::InterruptRequested(InterruptRequested {
            by: InterruptSource::Person,
            scope: Arc::new(Scope::local("person")),
            reason: String::from("enough"),
            when: StopTiming::AfterStep,
            key: None,
        })
    };
    let paused = with(&session("send hello"), after()).unwrap();
    assert_eq!(why(&paused, after()), "the turn was asked to stop already");
}

#[test]
fn what_was_said_stands_only_where_no_call_came_and_nobody_stops_the_turn() {
    let log = log("send hello\nfail truncated soon");
    let cut = log.iter().find_map(|recorded| {
        let Fact::SampleCut(fact) = &recorded.fact else {
            return None;
        };
        Some(fact.clone())
    });
    let cut = cut.unwrap();
    let said = || Fact::SampleCut(SampleCut { retained: Retained::Text, ..cut.clone() });
    let asked = session("send hello");
    assert!(with(&asked, said()).is_ok());
    let not_so = "it does not say what stands of the answer";
    let stopped = with(&asked, interrupted()).unwrap();
    assert_eq!(why(&stopped, said()), not_so);
    let call = session("open hooks=after_answer\nsend hello\ncall read {}");
    assert_eq!(why(&call, said()), not_so);
}

#[test]
fn an_input_that_the_turn_does_not_wait_for_is_not_blocked() {
    for point in ["prompt_submitted", "before_sample"] {
        let state = session(&format!("open hooks={point}\nsend hello\nsend another"));
        let input = state.queue.back().unwrap().id;
        let fact = Fact::InputBlocked(InputBlocked { input, reason: String::from("no") });
        assert_eq!(why(&state, fact), "the turn does not wait for it");
    }
}

const MISSHAPEN: &str =
    "open shape=1\nsend hello\ntext one\nend stop fault=not-JSON\ntext two\nend stop fault=no";

/// The two states in which an answer has ended without its shape and nothing is said of it yet.
fn misshapen() -> [Session; 2] {
    let states = super::states(&log(MISSHAPEN)).into_iter();
    let ended = states.map(|(state, _)| state).filter(|state| {
        let turn = state.turn();
        turn.is_some_and(|turn| matches!(turn.stage, Stage::Concluding(_)))
    });
    ended.collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn an_answer_is_asked_for_again_where_it_does_not_fit_and_while_returns_are_left() {
    let [first, last] = misshapen();
    let log = log(MISSHAPEN);
    let asked = log.iter().find_map(|recorded| {
        let Fact::ContextInjected(fact) = &recorded.fact else {
            return None;
        };
        Some(fact.clone())
    });
    let asked = |of| {
        let mut fact = asked.clone().unwrap();
        if let ContextSource::InvalidOutput { started, .. } = &mut fact.from {
            *started = of;
        }
        Fact::ContextInjected(fact)
    };
    let not_here = "no answer is asked for again here";
    assert!(with(&first, asked(Seq(5))).is_ok());
    assert_eq!(why(&first, asked(Seq(9))), not_here);
    // It was asked for as often as may be.
    assert_eq!(why(&last, asked(Seq(9))), not_here);
    let mut fits = first;
    if let Phase::InTurn(turn) = &mut fits.phase
        && let Stage::Concluding(concluding) = &mut turn.stage
    {
        concluding.fault = None;
    }
    assert_eq!(why(&fits, asked(Seq(5))), not_here);
}

#[test]
fn only_an_answer_of_which_a_shape_is_asked_misses_it() {
    let answered = "open shape=1\nsend hello\ntext one";
    let log = log(&format!("{answered}\nend stop fault=not-JSON"));
    let ended = log.iter().find_map(|recorded| {
        let Fact::SampleEnded(fact) = &recorded.fact else {
            return None;
        };
        Some(fact.clone())
    });
    let ended = Fact::SampleEnded(ended.unwrap());
    assert!(with(&session(answered), ended.clone()).is_ok());
    for other in ["send hello\ntext one", "open shape=1\nsend hello\ncall read {}"] {
        let state = session(other);
        let not_asked = "no shape is asked of this answer";
        assert_eq!(why(&state, ended.clone()), not_asked, "{other}");
    }
}

#[test]
fn a_turn_ends_for_its_shape_with_the_last_fault_and_not_before_the_returns_are_used_up() {
    let [first, last] = misshapen();
    let settled = |state: &Session, fault: &str| {
        Fact::TurnSettled(TurnSettled {
            outcome: TurnOutcome::InvalidOutput { fault: fault.to_owned() },
            spent: state.turn().unwrap().spent,
            waiting: Vec::new(),
            detached: Vec::new(),
            notice: None,
        })
    };
    let not_so = "the turn does not end in this way";
    assert_eq!(why(&first, settled(&first, "not-JSON")), not_so);
    assert_eq!(why(&last, settled(&last, "not-JSON")), not_so);
    assert!(with(&last, settled(&last, "no")).is_ok());
}
