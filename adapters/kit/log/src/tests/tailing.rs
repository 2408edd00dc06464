//! Tails of a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass_core::Seq;
use windlass_ports::{StoreError, StoreErrorKind};

use super::scripted::{Script, Stage, batch, id};

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn who_follows_is_woken_by_an_append_and_by_an_erasure() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let follow = |after| {
        let (pipeline, a) = (stage.pipeline.clone(), a.clone());
        tokio::spawn(async move {
            let look = || async {
                let last = pipeline.last(&a);
                let unknown = || StoreError::new(StoreErrorKind::Unknown, "gone");
                last.ok_or_else(unknown)
            };
            pipeline.tail(&a, Seq(after), LONG, None, look).await
        })
    };
    let (two, three) = (follow(1), follow(2));
    tokio::task::yield_now().await;
    stage.pipeline.append(batch(&a, 0, 1), epoch).await.unwrap();
    stage.pipeline.append(batch(&a, 1, 1), epoch).await.unwrap();
    assert_eq!(two.await.unwrap().unwrap(), Seq(2));
    assert!(!three.is_finished());
    assert_eq!(follow(1).await.unwrap().unwrap(), Seq(2), "at once");
    stage.pipeline.erase(&a, epoch).await.unwrap();
    let gone = three.await.unwrap().unwrap_err();
    assert_eq!(gone.kind, StoreErrorKind::Unknown);
}

#[tokio::test(start_paused = true)]
async fn patience_ends_with_the_last_position_and_other_writers_are_looked_for() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let looks = Arc::new(AtomicU64::new(0));
    let look = || async { Ok(Seq(looks.fetch_add(1, Ordering::SeqCst))) };
    let second = Duration::from_secs(1);
    let never = stage.pipeline.tail(&a, Seq(100), 5 * second, None, look);
    assert_eq!(never.await.unwrap(), Seq(1), "at first and at the end");
    let polled = stage.pipeline.tail(&a, Seq(4), 100 * second, Some(second), look);
    assert_eq!(polled.await.unwrap(), Seq(5));
}

#[tokio::test]
async fn nothing_is_left_of_who_has_stopped_following() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let look = || async { Ok(Seq::ZERO) };
    let tail = stage.pipeline.tail(&a, Seq::ZERO, LONG, None, look);
    let given_up = tokio::time::timeout(Duration::ZERO, tail).await;
    assert!(given_up.is_err());
    assert!(stage.pipeline.follows_nothing());
}
