//! What the session of an agent is opened with, and what it may get later.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use windlass_core::{
    AgentSpec, BudgetGrant, CallId, Draft, GOAL_TOOL, Incoming, Input, Limits, Lineage,
    OpenSession, Reject, Seq, Session, SessionId, Settings, Timestamp, ToolChoice, ToolSpec,
    Widening, decide, decide_open, evolve_first, open_child, unavailable_tool,
};
use windlass_testkit::world::{Script, Transitions, run};

/// A session in which the agent of call 6 runs.
fn parent() -> Session {
    let script = "open samples=5 agent=3\nsend hello\ncall put {}\nend stop";
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().session().clone()
}

fn agent(tools: &[&str]) -> AgentSpec {
    AgentSpec::new("Look.").with(|it| {
        it.tools = tools.iter().map(|&tool| tool.into()).collect();
        it.samples = 3;
    })
}

fn opening(parent: &Session, agent: &AgentSpec) -> OpenSession {
    let turn = parent.turn().unwrap();
    let lent = turn.calls()[0].grant.unwrap();
    OpenSession {
        owner: (*turn.scope).clone(),
        workspace: None,
        settings: agent.settings(turn, &lent),
        lineage: Lineage::Root,
    }
}

#[test]
fn a_child_has_what_its_call_was_lent_and_of_the_tools_those_that_are_named() {
    let parent = parent();
    let mut wider = opening(&parent, &agent(&["read", "nowhere"]));
    let names: Vec<_> = wider.settings.tools.iter().map(|tool| &tool.name).collect();
    assert_eq!(names, ["read"]);
    assert_eq!(wider.settings.instructions, "Look.");
    assert_eq!(wider.settings.options.tool_choice, ToolChoice::Auto);
    wider.settings.limits = Limits::default();
    let opened = open_child(&parent, CallId(6), wider).unwrap();
    assert_eq!(opened.settings.limits.samples, 3);
}

#[test]
fn a_child_with_more_than_its_parent_is_refused() {
    let parent = parent();
    let widens = |change: fn(&mut OpenSession)| {
        let mut opening = opening(&parent, &agent(&["read", "write"]));
        change(&mut opening);
        let refused = open_child(&parent, CallId(6), opening);
        assert!(matches!(refused, Err(Reject::WidensPermissions(_))), "{refused:?}");
    };
    widens(|opening| {
        let mut tool = opening.settings.tools[0].clone();
        tool.name = "other".into();
        opening.settings.tools.push(tool);
    });
    widens(|opening| opening.settings.tools[0].agent = Some(Box::new(agent(&[]))));
}

#[test]
fn a_child_has_no_more_time_than_its_call_was_lent() {
    let turn = |ms: u64| Limits::default().with(|it| it.turn_ms = ms);
    let lent = |turn_ms: u64| BudgetGrant { samples: 1, tokens: 0, cost_micros: 0, turn_ms };
    assert_eq!(lent(700).limits(&turn(1_000)).turn_ms, 700);
    assert_eq!(lent(700).limits(&turn(0)).turn_ms, 700);
    // As a log of an older engine has it.
    assert_eq!(lent(0).limits(&turn(1_000)).turn_ms, 1_000);
}

fn plain(name: &str) -> ToolSpec {
    windlass_testkit::tool_spec(name, "Plain.", r#"{"type":"object"}"#)
}

/// What becomes of other settings for the child that call 6 sent out, with the tool `read`.
fn configures(change: impl Fn(&mut Settings), widening: Widening) -> Result<Vec<Draft>, Reject> {
    let parent = parent();
    let opening = open_child(&parent, CallId(6), opening(&parent, &agent(&["read"]))).unwrap();
    let mut settings = opening.settings.clone();
    let input = |input| Incoming { at: Timestamp(2_000_000), entropy: 0, input };
    let first = decide_open(Incoming { at: Timestamp(2_000_000), entropy: 0, input: opening });
    let session = evolve_first(&first.number(&SessionId::new("child").unwrap(), Seq(1))).unwrap();
    change(&mut settings);
    let configure = Input::Configure { scope: (*session.owner).clone(), settings, widening };
    decide(&session, &Limits::default(), input(configure))
}

#[test]
fn a_child_gets_no_further_tool_unless_somebody_means_it() {
    let all = parent().settings.tools.clone();
    let refused = configures(|settings| settings.tools.clone_from(&all), Widening::Forbidden);
    assert!(matches!(refused, Err(Reject::WidensPermissions(_))), "{refused:?}");
    let meant = configures(|settings| settings.tools.clone_from(&all), Widening::Allowed);
    assert_eq!(meant.unwrap().len(), 1);
    let wider = configures(|settings| settings.limits.samples = 99, Widening::Forbidden);
    assert!(matches!(wider, Err(Reject::WidensPermissions(_))), "{wider:?}");
    // What it has may be told otherwise, and the goal's tool is nobody's own.
    let told = configures(
        |settings| {
            settings.tools[0].description = "Reads.".into();
            settings.tools.push(plain(GOAL_TOOL));
        },
        Widening::Forbidden,
    );
    assert_eq!(told.unwrap().len(), 1);
    // A session that nobody sent out is given what there is.
    let parent = parent();
    assert_eq!(parent.offered_tools(all.clone()), all);
}

#[test]
fn what_agents_are_to_have_is_there_for_them() {
    let named =
        |name: &str, tools: &[&str]| plain(name).with(|it| it.agent = Some(Box::new(agent(tools))));
    let read = plain("read");
    let whole = [named("a", &["b", "read", "a"]), named("b", &["read"]), read.clone()];
    assert_eq!(unavailable_tool(&whole), None);
    let unknown = [named("a", &["nowhere"]), read.clone()];
    let told = unavailable_tool(&unknown).unwrap().to_string();
    assert!(told.contains("`a`") && told.contains("`nowhere`"), "{told}");
    let below = [named("a", &["b"]), named("b", &["read"]), read];
    let told = unavailable_tool(&below).unwrap().to_string();
    assert!(told.ends_with("name it for `a` too"), "{told}");
}
