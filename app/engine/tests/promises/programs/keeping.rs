//! Keeping: what programs leave is recorded as changes, and listed for their model.

use windlass_engine::core::RetainedChange;

use super::{returned, run, stage};
use crate::world::limits;

/// Keeps more than a mebibyte.
fn much() -> String {
    let text = "x".repeat(32);
    let twice = "loop 15\nvalue [\"$LAST\",\"$LAST\"]\nend";
    format!("value \"{text}\"\n{twice}\nkeep large = $LAST\nvalue 1")
}

#[tokio::test(start_paused = true)]
async fn a_small_change_beside_a_mebibyte_is_a_small_fact_and_all_is_listed() {
    let script = [
        run(&much()),
        run("keep small = 1\nvalue 2"),
        run("keep small = 3\nreturn [\"$kept.small\",\"$nothing\"]"),
        run("keep other = 4\ncall nothing {}"),
        run("return $kept.small"),
    ];
    let mut stage = stage(script, []);
    stage.world = stage.world.limited(limits().with(|it| it.samples = 6));
    let (report, _) = stage.world.turn().await;
    assert_eq!(report.answer, "1");
    assert_eq!(stage.ends()[4], returned("1"));
    let outcomes = stage.outcomes();
    let retained = |at: usize| outcomes[at].0.retained.clone();
    assert!(serde_json::to_string(&outcomes[0].0).unwrap().len() > 1 << 20);
    assert_eq!(retained(1), [RetainedChange::set("small", "1")]);
    assert!(serde_json::to_string(&outcomes[1].0).unwrap().len() < 200);
    assert!(outcomes.iter().all(|(outcome, _)| outcome.memory.is_none()));
    for at in 2..5 {
        assert_eq!(retained(at), [], "{at}");
    }
    let told = stage.told();
    let list = "Kept for the programs after it:\n<data>\nsmall = 1\nlarge = [[[";
    assert!(told[1].contains(list) && told[1].contains(".. (2 items)\n</data>"), "{}", told[1]);
    let left = "\nPrograms left in this turn: 4; the last one cannot call tools.";
    assert!(told[1].ends_with(left), "{}", told[1]);
    assert!(told[3].contains("left in this turn: 2;"), "{}", told[3]);
    assert!(!told[4].contains("left in this turn"), "{}", told[4]);
}
