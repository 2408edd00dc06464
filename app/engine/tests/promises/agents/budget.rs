//! Budget: what an agent is lent of a turn's tokens and money, as its provider counts them.

use windlass_engine::TurnReport;
use windlass_engine::core::{LimitKind, Price, Settings};
use windlass_testkit::Answer as Said;

use super::*;

/// What each answer costs: tokens of the request, and of the answer. No more than is expected of
/// requests as short as these.
const COSTS: (u64, u64) = (60, 20);

fn costs(answer: Said) -> Step {
    Step::from(answer.tokens(COSTS.0, COSTS.1))
}

/// Runs a turn that sends out two agents, one after the other: the first looks around for as long as
/// it may, the second says at once what there is.
async fn spends(tune: fn(&mut Settings, &mut AgentSpec)) -> (TurnReport, u64, World) {
    let (provider, asked) = model(|session, nth| match (session, nth) {
        ("s", 0 | 1) => costs(Said::new().call("scout", json!({"prompt": "look around"}))),
        ("s", _) => costs(Said::new().text("done")),
        (CHILD, _) => costs(Said::new().call("look", json!({}))),
        _ => costs(Said::new().text("a tree")),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&[], 9), 99);
    let world = world.tuned(move |settings| {
        settings.max_output_tokens = Some(COSTS.1);
        let mut agent = agent(&["look"], 99);
        tune(settings, &mut agent);
        settings.tools.push(scout(agent));
    });
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let asked = total(&asked) as u64;
    (report, asked, world)
}

/// What each call was lent, what its child was opened with, and what was counted of it, in tokens and
/// in money.
fn counted(world: &World) -> [[[u64; 2]; 3]; 2] {
    let lent = world.picked(|fact| match fact {
        Fact::CallStarted(fact) => {
            let child = agent_session(&fact.idempotency_key).unwrap();
            let lent = fact.grant.unwrap();
            Some((child, [lent.tokens, lent.cost_micros]))
        }
        _ => None,
    });
    let took = world.picked(|fact| match fact {
        Fact::CallObserved(fact) => fact.usage.map(|took| [took.tokens, took.cost_micros]),
        _ => None,
    });
    let each = lent.into_iter().zip(took).map(|((child, lent), took)| {
        let child = world.store.log(&child);
        let Fact::SessionOpened(opened) = &child[0].fact else {
            panic!("{:?}", child[0]);
        };
        let limits = &opened.settings.limits;
        [lent, [limits.tokens, limits.cost_micros], took]
    });
    let each: Vec<_> = each.collect();
    each.try_into().unwrap()
}

fn exhausted(world: &World, limit: LimitKind) {
    let ended = outcome(&world.store.log(&id(CHILD)));
    assert_eq!(ended, Some(TurnOutcome::Exhausted { limit }));
}

#[tokio::test(start_paused = true)]
async fn the_tokens_of_agents_are_their_turns() {
    let (report, asked, world) = spends(|settings, agent| {
        settings.limits.tokens = 1_000;
        agent.tokens = 500;
    })
    .await;
    let each = COSTS.0 + COSTS.1;
    let [first, second] = counted(&world).map(|one| one.map(|[tokens, _]| tokens));
    let [lent, limit, took] = first;
    assert_eq!((lent, limit), (500, 500), "as much as is declared");
    exhausted(&world, LimitKind::Tokens);
    assert_eq!(took, (asked - 4) * each, "as the provider counts them");
    assert!(took <= lent && took + 3 * each > lent, "{took} of {lent}");
    // Two answers of the turn's own are spent, or are about to be, and one is set aside.
    let [lent, limit, took_too] = second;
    assert_eq!(lent, limit);
    assert!(lent < 1_000 - took - 2 * each, "{lent}, and {took} are taken");
    assert_eq!(took_too, each);
    assert_eq!(report.spent.agents.tokens, took + took_too);
    assert_eq!(report.spent.with_agents().tokens, asked * each);
    assert!(asked * each <= 1_000);
}

#[tokio::test(start_paused = true)]
async fn the_money_of_agents_is_their_turns() {
    let (report, asked, world) = spends(|settings, agent| {
        settings.limits.cost_micros = 2_000;
        settings.price = Some(Price {
            input_micros: 1_000_000,
            cached_input_micros: 0,
            cache_write_micros: None,
            output_micros: 5_000_000,
        });
        agent.cost_micros = 900;
    })
    .await;
    let each = COSTS.0 + 5 * COSTS.1;
    let [first, second] = counted(&world).map(|one| one.map(|[_, money]| money));
    let [lent, limit, took] = first;
    assert_eq!((lent, limit), (900, 900), "as much as is declared");
    exhausted(&world, LimitKind::Cost);
    assert_eq!(took, (asked - 4) * each);
    assert!(took <= lent && took + 3 * each > lent, "{took} of {lent}");
    let [lent, limit, took_too] = second;
    assert_eq!(lent, limit);
    assert!(lent < 2_000 - took - 2 * each, "{lent}, and {took} are taken");
    assert_eq!(took_too, each);
    assert_eq!(report.spent.with_agents().cost_micros, asked * each);
    assert!(asked * each <= 2_000);
}

/// What each call of one answer was lent, in samples, and how each call ended. The agent `guide`
/// declares one sample, and `scout` all that there are.
async fn shared(
    agents: &'static [&'static str],
    samples: u32,
) -> (Vec<u32>, Vec<ObservationStatus>) {
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => calls(agents.iter().map(|agent| (*agent, json!({"prompt": "look"})))),
        ("s", _) => say("done"),
        _ => say("a tree"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&[], 99), samples);
    let world = world.tuned(|settings| {
        settings.tools.push(scout(agent(&[], 99)));
        settings.tools.push(scout(agent(&[], 1)).with(|it| it.name = "guide".into()));
    });
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let lent = world.picked(|fact| match fact {
        Fact::CallStarted(fact) => fact.grant.map(|lent| lent.samples),
        _ => None,
    });
    let ends = observed(&world.log()).into_iter().map(|(one, _)| one.status);
    (lent, ends.collect())
}

#[tokio::test(start_paused = true)]
async fn agents_that_declare_everything_share_what_is_left() {
    let (lent, ends) = shared(&["scout", "scout", "scout"], 12).await;
    assert_eq!(lent, [4, 3, 3]);
    assert_eq!(ends, [ObservationStatus::Done; 3]);
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_does_not_declare_goes_to_the_others() {
    let (lent, ends) = shared(&["scout", "guide", "scout"], 12).await;
    assert_eq!(lent, [5, 1, 4]);
    assert_eq!(ends, [ObservationStatus::Done; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_single_agent_is_lent_all_that_is_left() {
    let (lent, _) = shared(&["scout"], 12).await;
    assert_eq!(lent, [10]);
}
