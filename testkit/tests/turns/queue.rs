//! The queue: inputs that wait are edited, moved and withdrawn until they are accepted, and no longer.

use expect_test::expect;

use super::check;

#[test]
fn an_input_that_waits_enters_as_it_was_edited() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send and then => input 6
        > edit 0 and now
           7 InputEdited input 6 "and now"
        > text hi => item 8
        > end stop => completed at 10, turn of waiting 6, sample@13
    "#]]);
}

#[test]
fn an_input_that_is_withdrawn_never_enters() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send no => input 6
        > followup yes
           7 InputQueued "yes", follow-up
        > withdraw 0
           8 InputWithdrawn input 6
        > text hi => item 9
        > end stop => completed at 11, turn of waiting 7, sample@14
    "#]]);
}

#[test]
fn inputs_enter_in_the_order_that_users_give_them() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send one => input 6
        > send two => input 7
        > send three => input 8
        > move 2 before=0
           9 InputMoved input 8 before 6
        > move 1
          10 InputMoved input 6 to the end
        > text hi => item 11
        > end stop => sample ended at 12
          13 TurnSettled completed, waiting: 8, 7, 6
          14 TurnOpened because opened by input 8 => sample@16
        > text hi => item 17
        > end stop => sample ended at 18
          19 TurnSettled completed, waiting: 7, 6
          20 TurnOpened because opened by input 7 => sample@22
        > text hi => item 23
        > end stop => completed at 25, turn of waiting 6, sample@28
        > text hi => item 29
        > end stop => completed at 31
    "#]]);
}

#[test]
fn what_was_accepted_is_not_changed() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > edit 0 bye
             rejected: input 2 does not wait: it was accepted, blocked or withdrawn, or never sent
        > withdraw 0
             rejected: input 2 does not wait: it was accepted, blocked or withdrawn, or never sent
        > move 0
             rejected: input 2 does not wait: it was accepted, blocked or withdrawn, or never sent
    "#]]);
}

#[test]
fn a_steer_that_the_answer_yields_to_is_not_changed() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer more => input 6, yield sample@5
        > edit 0 less
             rejected: input 6 is being accepted: it can no longer be changed or withdrawn
        > withdraw 0
             rejected: input 6 is being accepted: it can no longer be changed or withdrawn
        > call read {} => read-only call 7 decided
           9 CallStarted call 7 attempt 1
             go on with sample@5
             run call 7@9
        > edit 0 less
          10 InputEdited input 6 "less"
        > end stop => sample ended at 11
        > done 0 ok => call 7 observed at 12
          13 InputAccepted input 6 => sample 2@14
    "#]]);
}

#[test]
fn nothing_is_moved_before_a_steer_that_the_answer_yields_to() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > send next => input 8
        > steer one => input 9
          10 HooksAsked prompt_submitted input 9: hook 0 => runs
        > steer two => input 11
        > followup three
          12 InputQueued "three", follow-up
        > hook 0 pass => passed at 13
             yield sample@7
        > move 2 before=1
             rejected: input 9 is being accepted: it can no longer be changed or withdrawn
        > move 2 before=0
             rejected: input 9 is being accepted: it can no longer be changed or withdrawn
        > move 3 before=1
          14 InputMoved input 12 before 9
        > move 0
          15 InputMoved input 8 to the end
        > yielded so far
          16 SampleCut steered, partial "so far", what it said stands, about 129 tokens, next attempt in 0 ms
          17 InputAccepted input 9
          18 HooksAsked prompt_submitted input 11: hook 0 => runs
    "#]]);
}

#[test]
fn hooks_are_asked_about_an_edited_steer_again() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > call read {} => read-only call 8@10
        > end stop => sample ended at 11
        > steer more => input 12
        > done 0 ok => call 8 observed at 13
          14 HooksAsked prompt_submitted input 12: hook 0 => runs
        > edit 0 less
          15 InputEdited input 12 "less"
          16 HooksAsked prompt_submitted input 12: hook 0 => runs
        > late 3
             rejected: the answer of the run at 14 of hook 0 came late: that run is no longer waited for
        > hook 0 pass => passed at 17
          18 InputAccepted input 12 => sample 2@19
    "#]]);
}

#[test]
fn what_hooks_gave_for_the_old_text_of_a_steer_is_dropped() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer more => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > call write {} => permitted call 10@12
        > hook 0 pass context=about_more
          13 HookDecided h0 pass, context "about_more"
        > edit 0 less
          14 InputEdited input 8 "less"
        > end stop => sample ended at 15
        > done 0 ok => call 10 observed at 16
          17 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 pass context=about_less
          18 HookDecided h0 pass, context "about_less"
          19 ContextInjected of the hook at 18
          20 InputAccepted input 8 => sample 2@21
    "#]]);
}

#[test]
fn a_steer_that_is_withdrawn_while_its_hooks_are_asked_leaves_the_turn_as_it_is() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer more => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > withdraw 0
          10 InputWithdrawn input 8
        > text hi => item 11
        > end stop => completed at 13
    "#]]);
}

#[test]
fn a_steer_that_is_moved_back_is_asked_about_when_it_is_first_again() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > hook 0 pass => passed at 5, input 2 accepted, sample@7
        > steer one => input 8
           9 HooksAsked prompt_submitted input 8: hook 0 => runs
        > steer two => input 10
        > move 0
          11 InputMoved input 8 to the end
          12 HooksAsked prompt_submitted input 10: hook 0 => runs
        > hook 0 deny not two
          13 HookDecided h0 deny: not two
          14 InputBlocked input 10: not two
          15 HooksAsked prompt_submitted input 8: hook 0 => runs
        > hook 0 pass => passed at 16
             yield sample@7
        > yielded so far
          17 SampleCut steered, partial "so far", what it said stands, about 129 tokens, next attempt in 0 ms
          18 InputAccepted input 8 => sample 2@19
    "#]]);
}

#[test]
fn an_input_that_a_turn_is_open_for_is_edited_but_not_withdrawn() {
    check(expect![[r#"
        > open hooks=prompt_submitted
        > send hello => first turn, prompt hook 0@4
        > edit 0 bye
           5 InputEdited input 2 "bye"
           6 HooksAsked prompt_submitted input 2: hook 0 => runs
        > withdraw 0
             rejected: turn 3 is open for input 2: interrupt the turn first
        > move 0
             rejected: turn 3 is open for input 2: interrupt the turn first
        > hook 0 pass => passed at 7, input 2 accepted, sample@9
    "#]]);
}

#[test]
fn an_input_that_is_held_is_withdrawn_and_opens_nothing() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer more => input 6, yield sample@5
        > interrupt person => request 7, wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, about 115 tokens, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > edit 0 less
          10 InputEdited input 6 "less"
        > withdraw 0
          11 InputWithdrawn input 6
        > continue
             rejected: no turn is running and no input waits, so there is nothing to continue
    "#]]);
}

#[test]
fn a_change_under_a_key_is_made_once() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > send more => input 6
        > keyed k edit 0 less
           7 InputEdited input 6 "less", keyed k
        > keyed k edit 0 nothing
             rejected: an input with this key was taken at 7 already
        > keyed l withdraw 0
           8 InputWithdrawn input 6, keyed l
        > keyed l withdraw 0
             rejected: an input with this key was taken at 8 already
    "#]]);
}

#[test]
fn words_for_a_turn_that_is_over_are_refused() {
    check(expect![[r#"
        > send hello => first turn, sample@5
        > steer turn=3 more
           6 InputQueued "more", steer
             yield sample@5
        > steer turn=9 more
             rejected: turn 9 is not running: it is over, or was never opened; nothing was changed
        > interrupt person turn=9
             rejected: turn 9 is not running: it is over, or was never opened; nothing was changed
        > interrupt person turn=3
           7 InterruptRequested by person: enough
             wind sample@5
        > fail cancelled never
           8 SampleCut cancelled, about 115 tokens, no further attempt
           9 TurnSettled interrupted by person, waiting: 6
        > steer turn=3 more
             rejected: turn 3 is not running: it is over, or was never opened; nothing was changed
        > interrupt person turn=3
             rejected: turn 3 is not running: it is over, or was never opened; nothing was changed
    "#]]);
}

#[test]
fn an_edit_that_leaves_room_ends_the_question_about_a_compaction() {
    check(expect![[r#"
        > open hooks=before_compaction window=252
        > send hello => first turn, sample@5
        > text hi => item 6
        > end stop => completed at 8
        > send x*600 => turn of input 9
          11 HooksAsked before_compaction 1 window: hook 0 => runs
        > edit 0 a
          12 InputEdited input 9 "a"
          13 InputAccepted input 9 => sample@14
    "#]]);
}

/// A change that comes again under its key is refused, also if the first one changed nothing.
#[test]
fn a_change_to_what_an_input_is_leaves_its_key() {
    check(expect![[r#"
        > send one => first turn, sample@5
        > send two => input 6
        > keyed k move 0 before=0
           7 InputMoved input 6 to the end, keyed k
        > keyed e edit 0 two
           8 InputEdited input 6 "two", keyed e
        > keyed k move 0 before=0
             rejected: an input with this key was taken at 7 already
    "#]]);
}
