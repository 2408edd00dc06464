//! Programs: they call tools like the model, go on as their calls end, and come to a value, a result or
//! nothing.

use expect_test::expect;

use super::check;

#[test]
fn a_program_calls_tools_and_the_model_goes_on_from_its_value() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls read {} & write {"a":1}
          10 ProgramCalled program 6: read {}
          11 ProgramCalled program 6: write {"a":1}
          12 CallDecided call 10 allow: the tool is read-only
          13 CallDecided call 11 allow: the permissions allow it
          14 CallStarted call 10 attempt 1
          15 CallStarted call 11 attempt 1
             run call 10@14
             run call 11@15
        > done 0 ok => call 10 observed at 16
        > done 0 ok => call 11 observed at 17
             run call 6@17
        > program 0 value keeps=m 1
          18 ProgramRun program 6 value 1, keeps m
          19 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          20 SampleStarted sample 2 attempt 1 because tool results => runs
        > text all is done => item 21
        > end stop => completed at 23
    "#]]);
}

#[test]
fn what_a_program_returns_is_the_end_of_the_turn() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > spoken x
           6 ItemAdded call run_program x, spoken
           7 CallDecided call 6 allow: the tool is read-only
        > end stop => call 6@9
        > program 0 calls read {}
          10 ProgramCalled program 6: read {}
          11 CallDecided call 10 allow: the tool is read-only
          12 CallStarted call 10 attempt 1 => runs
        > done 0 ok => call 10 observed at 13
             run call 6@13
        > program 0 return keeps=m 1
          14 ProgramRun program 6 return 1, keeps m
          15 CallObserved call 6 done: The program returned:
        <data>
        1
        </data>
          16 TurnSettled completed
    "#]]);
}

#[test]
fn a_program_that_fails_leaves_nothing_and_the_model_goes_on() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {}
          10 ProgramCalled program 6: write {}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1 => runs
        > done 0 paid => call 10 observed at 13
             run call 6@13
        > program 0 fault keeps=m it went wrong
          14 ProgramRun program 6 fault simulated: it went wrong
          15 CallObserved call 6 failed: The program failed:
        <data>
        simulated: it went wrong
        </data>
        Nothing that it defined was kept.
          16 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"y"} => read-only call 17 decided
        > end stop => call 17@20
        > program 0 fail cannot be done
          21 ProgramRun program 17 fail cannot be done
          22 CallObserved call 17 failed: The program gave up:
        <data>
        cannot be done
        </data>
        Nothing that it defined was kept.
          23 TurnSettled failed: program: the program gave up: cannot be done
    "#]]);
}

#[test]
fn a_question_about_a_call_of_a_program_holds_the_program() {
    check(expect![[r#"
        > open program=5 permissions=ask
        > send hello => first turn, people are asked, sample@6
        > call run_program {"source":"x"} => read-only call 7 decided
        > end stop => call 7@10
        > program 0 calls write {} & read {}
          11 ProgramCalled program 7: write {}
          12 ProgramCalled program 7: read {}
          13 CallDecided call 11 ask: the permissions ask first
          14 ApprovalAsked call 11, within 604800000 ms
          15 CallDecided call 12 allow: the tool is read-only
          16 CallStarted call 12 attempt 1 => runs
             run approval of call 11@14
        > done 0 ok => call 12 observed at 17
        > asked 0 deny not that
          18 ApprovalAnswered call 11 deny by approver: not that
          19 CallObserved call 11 denied: Denied by a person: not that
             run call 7@19
        > program 0 return 1 => program 7 returned at 20, turn completed at 22
    "#]]);
}

#[test]
fn a_process_that_ends_between_two_calls_runs_the_program_again_and_no_call_of_it() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {}
          10 ProgramCalled program 6: write {}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1 => runs
        > done 0 ok => call 10 observed at 13
             run call 6@13
        > crash => log ends at 13
          14 CallStarted call 6 attempt 2 => runs
        > program 0 calls write {"a":1}
          15 ProgramCalled program 6: write {"a":1}
          16 CallDecided call 15 allow: the permissions allow it
          17 CallStarted call 15 attempt 1 => runs
        > crash => log ends at 17
          18 CallObserved call 15 unknown: Unknown: the process that ran this call ended before the call did. It may have taken effect or not; check before you repeat it.
             run call 6@18
        > program 0 return 1 => program 6 returned at 19, turn completed at 21
    "#]]);
}

#[test]
fn an_interrupt_winds_down_what_a_program_has_called_and_ends_it() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {} & put {}
          10 ProgramCalled program 6: write {}
          11 ProgramCalled program 6: put {}
          12 CallDecided call 10 allow: the permissions allow it
          13 CallDecided call 11 allow: the permissions allow it
          14 CallStarted call 10 attempt 1
          15 CallStarted call 11 attempt 1
             run call 10@14
             run call 11@15
        > interrupt person => request 16
             wind call 10@14
             wind call 11@15
        > aborted 0 stopped
          17 CallObserved call 10 aborted: Stopped: the user interrupted the turn.
        stopped
        > aborted 0 stopped
          18 CallObserved call 11 aborted: Stopped: the user interrupted the turn.
        stopped
          19 CallObserved call 6 aborted: Stopped: the user interrupted the turn while this program ran. The calls that it had made are not undone., tells 10 11
          20 TurnSettled interrupted by person
    "#]]);
}

#[test]
fn an_interrupt_ends_a_program_that_computes() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > interrupt person => request 10
          11 CallObserved call 6 aborted: Stopped: the user interrupted the turn while this program ran. The calls that it had made are not undone.
          12 TurnSettled interrupted by person
        > program 0 value 1
        > late 0
             rejected: the answer of the sample at 5 came late: that run is no longer waited for
    "#]]);
}

#[test]
fn an_effect_of_a_failed_program_is_not_started_again_before_the_model_is_told() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {}
          10 ProgramCalled program 6: write {}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1 => runs
        > done 0 paid => call 10 observed at 13
             run call 6@13
        > program 0 calls write {"a":1}
          14 ProgramCalled program 6: write {"a":1}
          15 CallDecided call 14 allow: the permissions allow it
          16 CallStarted call 14 attempt 1 => runs
        > done 0 paid => call 14 observed at 17
             run call 6@17
        > program 0 fault it went wrong
          18 ProgramRun program 6 fault simulated: it went wrong
          19 CallObserved call 6 failed: The program failed:
        <data>
        simulated: it went wrong
        </data>
        Nothing that it defined was kept.
          20 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"y"} => read-only call 21 decided
        > end stop => call 21@24
        > program 0 calls write {} & write {"a":2} & write {}
          25 ProgramCalled program 21: write {}
          26 ProgramCalled program 21: write {"a":2}
          27 ProgramCalled program 21: write {}
          28 CallObserved call 25 not_started: Not started: an earlier program of this turn made the same call and failed after it. The effects of its calls stand, or may stand. If they are to happen once more, make the calls again in your next program.
          29 CallDecided call 26 allow: the permissions allow it
          30 CallObserved call 27 not_started: Not started: an earlier program of this turn made the same call and failed after it. The effects of its calls stand, or may stand. If they are to happen once more, make the calls again in your next program.
          31 CallStarted call 26 attempt 1 => runs
        > done 0 paid => call 26 observed at 32
             run call 21@32
        > program 0 fault not started
          33 ProgramRun program 21 fault simulated: not started
          34 CallObserved call 21 failed: The program failed:
        <data>
        simulated: not started
        </data>
        Nothing that it defined was kept.
          35 SampleStarted sample 3 attempt 1 because tool results => runs
        > call run_program {"source":"z"} => read-only call 36 decided
        > end stop => call 36@39
        > program 0 calls write {} & write {"a":1}
          40 ProgramCalled program 36: write {}
          41 ProgramCalled program 36: write {"a":1}
          42 CallDecided call 40 allow: the permissions allow it
          43 CallDecided call 41 allow: the permissions allow it
          44 CallStarted call 40 attempt 1
          45 CallStarted call 41 attempt 1
             run call 40@44
             run call 41@45
        > done 0 paid => call 40 observed at 46
        > program 0 value 1
        > call run_program {"source":"z"}
        > end stop
        > program 0 calls write {}
        > done 0 paid => call 41 observed at 47
             run call 36@47
        > program 0 return 1 => program 36 returned at 48, turn completed at 50
    "#]]);
}

#[test]
fn a_program_that_ends_as_planned_may_be_followed_by_the_same_effect() {
    check(expect![[r#"
        > open program=5
        > send hello => first turn, sample@5
        > call run_program {"source":"x"} => read-only call 6 decided
        > end stop => call 6@9
        > program 0 calls write {}
          10 ProgramCalled program 6: write {}
          11 CallDecided call 10 allow: the permissions allow it
          12 CallStarted call 10 attempt 1 => runs
        > done 0 paid => call 10 observed at 13
             run call 6@13
        > program 0 calls write {}
          14 ProgramCalled program 6: write {}
          15 CallDecided call 14 allow: the permissions allow it
          16 CallStarted call 14 attempt 1 => runs
        > done 0 paid => call 14 observed at 17
             run call 6@17
        > program 0 value 1
          18 ProgramRun program 6 value 1
          19 CallObserved call 6 done: The program ended with this value:
        <data>
        1
        </data>
          20 SampleStarted sample 2 attempt 1 because tool results => runs
        > call run_program {"source":"y"} => read-only call 21 decided
        > end stop => call 21@24
        > program 0 calls write {}
          25 ProgramCalled program 21: write {}
          26 CallDecided call 25 allow: the permissions allow it
          27 CallStarted call 25 attempt 1 => runs
        > done 0 paid => call 25 observed at 28
             run call 21@28
        > program 0 return 1 => program 21 returned at 29, turn completed at 31
    "#]]);
}
