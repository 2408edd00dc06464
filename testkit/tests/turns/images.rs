//! Images that users show: let in with their input, counted with it, and bounded.

use expect_test::expect;

use super::check;

#[test]
fn an_image_is_shown_with_its_input_wherever_that_is_let_in() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > send images=2 what is this?
           2 InputQueued "what is this?", 2 images
           3 TurnOpened because opened by input 2 => sample@5
        > steer images=1 and this?
           6 InputQueued "and this?", steer, 1 image
             yield sample@5
        > followup images=1 later
           7 InputQueued "later", follow-up, 1 image
        > text a winch => item 8
        > end stop => sample ended at 9
          10 InputAccepted input 6 => sample 2@11
        > crash => log ends at 11
          12 SampleCut restart, about 6583 tokens, next attempt in 0 ms
          13 SampleStarted sample 2 attempt 2 because retry => runs
        > text a hook => item 14
        > end stop => completed at 16, turn of waiting 7, sample@19
    "#]]);
}

#[test]
fn an_input_shows_so_many_images_and_no_more() {
    check(expect![[r#"
        > open
           1 SessionOpened
        > send images=17 what is this?
             rejected: the input shows 17 images, and the limit is 16: send some of them later
        > send images=16 what is this?
           2 InputQueued "what is this?", 16 images
           3 TurnOpened because opened by input 2 => sample@5
    "#]]);
}

#[test]
fn an_image_counts_against_the_window() {
    check(expect![[r#"
        > open window=3000
        > send hello => first turn, sample@5
        > text y*3000 => item 6
        > end stop => completed at 8
        > send images=2 what is this?
           9 InputQueued "what is this?", 2 images
          10 TurnOpened because opened by input 9
          11 CompactionStarted 1 attempt 1: window, clear to 0 bytes => runs
    "#]]);
}
