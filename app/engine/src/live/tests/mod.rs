//! A subscriber on a node without the driver receives each fact in log order, and each streamed
//! character once: with any time of joining, any losses, and any driver.

mod bus;
mod driver;
mod node;
mod screen;

use windlass_core::Seq;

use node::{Node, Odds};

/// Pseudo-random numbers, the same for the same seed.
pub(super) struct TestRng(u64);

impl TestRng {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }

    pub(super) fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// Runs a hundred and fifty random steps for each seed.
async fn sweep(odds: Odds, seeds: std::ops::Range<u64>) -> u64 {
    let mut streamed = 0;
    for seed in seeds {
        eprintln!("seed {seed}");
        let mut node = Node::new(seed, odds).await;
        for _ in 0..150 {
            node.step().await;
        }
        node.rest().await;
        streamed += node.streamed();
    }
    streamed
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_lost_or_late_each_part_is_seen_whole_before_its_item() {
    let odds = Odds { loss: None, in_time: true, takeovers: false };
    assert!(sweep(odds, 0..150).await > 10_000);
}

#[tokio::test(start_paused = true)]
async fn facts_may_overtake_what_streams_and_nothing_is_seen_twice_or_late() {
    let odds = Odds { loss: None, in_time: false, takeovers: false };
    assert!(sweep(odds, 1_000..1_200).await > 10_000);
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_told_anew_and_joins_without_a_gap_or_a_duplicate() {
    for loss in [2, 5, 20] {
        let odds = Odds { loss: Some(loss), in_time: false, takeovers: false };
        assert!(sweep(odds, 2_000..2_100).await > 1_000);
    }
}

#[tokio::test(start_paused = true)]
async fn another_driver_may_take_its_place_at_any_moment() {
    for loss in [None, Some(6)] {
        let odds = Odds { loss, in_time: false, takeovers: true };
        assert!(sweep(odds, 3_000..3_150).await > 1_000);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_joins_with_a_cursor_that_is_not_known_here_yet_sees_nothing_twice() {
    let odds = Odds { loss: None, in_time: false, takeovers: false };
    let mut node = Node::new(7, odds).await;
    for _ in 0..400 {
        node.step().await;
        let end = node.end();
        node.join(Some(Seq(end.0)));
    }
    node.rest().await;
}
