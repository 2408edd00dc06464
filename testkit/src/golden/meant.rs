//! Intended differences between the decisions of this engine and those of golden logs.

/// Reason: a run of an agent may include questions to people.
const AGENTS_TAKE_LONGER: &str = "the longest run of a tool does not bound an agent's";
/// As above, and the turn reserves tokens for the result of the agent.
const AGENTS_ARE_HEARD: &str = "the longest run of a tool does not bound an agent's, and its turn keeps \
                                room for what it says";
const AGENTS_SHARE: &str =
    "an agent starts once the answer has ended, since only then it is known how many share";
const ANSWERS_ARE_RESERVED: &str = "the answer is reserved beside its request, and a request without \
                                    room for it is not sent";
const BROKEN_ATTEMPTS_COUNT: &str = "what an attempt may cost that broke off is estimated";
const COMPACTIONS_LEAVE_MORE: &str =
    "a compaction leaves two thirds of the window beside what waits, not half of it";
const DENIALS_SAY_SO: &str = "a denial says whose it is, and what to do";
const EACH_HOOK_OF_AN_END: &str =
    "a denial at the end of a turn does not end the round of its hooks";
const LOST_SUMMARIES_COUNT: &str =
    "what was set aside for a summary that was cut off counts as spent";
const RESULTS_ARE_CUT: &str = "a result that is too long for the window is shown in part";
const STOPS_ARE_TOLD: &str = "a call that is stopped, an answer that is cut off and a turn that is \
                              interrupted say by whom";
const SURPLUS_CALLS: &str = "calls beyond the most of an answer are surplus, and the turn goes on";

/// Intended differences between the decisions of this engine and those of a golden log: the log,
/// the position and the reason. The log stays as it is.
pub const MEANT: &[(&str, u64, &str)] = &[
    ("a_child_with_hooks", 11, EACH_HOOK_OF_AN_END),
    ("a_child_with_hooks", 17, EACH_HOOK_OF_AN_END),
    ("a_summary_is_lost", 5, ANSWERS_ARE_RESERVED),
    ("a_summary_is_lost", 7, ANSWERS_ARE_RESERVED),
    ("a_summary_is_lost", 11, COMPACTIONS_LEAVE_MORE),
    ("a_summary_is_lost", 12, COMPACTIONS_LEAVE_MORE),
    ("a_summary_is_lost", 18, COMPACTIONS_LEAVE_MORE),
    ("agents_are_lent_a_budget", 5, ANSWERS_ARE_RESERVED),
    ("agents_are_lent_a_budget", 8, AGENTS_ARE_HEARD),
    ("agents_are_lent_a_budget", 11, ANSWERS_ARE_RESERVED),
    ("agents_are_lent_a_budget", 13, AGENTS_TAKE_LONGER),
    ("agents_are_lent_a_budget", 15, ANSWERS_ARE_RESERVED),
    ("agents_are_lent_a_budget", 18, AGENTS_ARE_HEARD),
    ("agents_are_lent_a_budget", 21, ANSWERS_ARE_RESERVED),
    ("agents_are_lent_time", 8, AGENTS_SHARE),
    ("agents_are_lent_time", 15, AGENTS_SHARE),
    ("agents_are_lent_time", 17, STOPS_ARE_TOLD),
    ("answers_denied_by_hooks", 10, DENIALS_SAY_SO),
    ("answers_denied_by_hooks", 18, DENIALS_SAY_SO),
    ("answers_of_a_shape", 18, EACH_HOOK_OF_AN_END),
    ("answers_of_a_shape", 29, BROKEN_ATTEMPTS_COUNT),
    ("answers_of_a_shape", 31, BROKEN_ATTEMPTS_COUNT),
    ("answers_of_a_shape", 49, BROKEN_ATTEMPTS_COUNT),
    ("answers_of_a_shape", 57, BROKEN_ATTEMPTS_COUNT),
    ("calls_and_their_limits", 22, DENIALS_SAY_SO),
    ("calls_and_their_limits", 53, DENIALS_SAY_SO),
    ("calls_and_their_limits", 85, SURPLUS_CALLS),
    ("compaction_with_hooks", 13, COMPACTIONS_LEAVE_MORE),
    ("edits_meet_the_rules", 12, DENIALS_SAY_SO),
    ("failures_of_every_kind", 56, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 63, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 77, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 84, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 91, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 98, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 105, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 112, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 119, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 134, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 154, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 157, BROKEN_ATTEMPTS_COUNT),
    ("failures_of_every_kind", 166, BROKEN_ATTEMPTS_COUNT),
    ("money_is_spent", 5, ANSWERS_ARE_RESERVED),
    ("programs_come_to_results", 77, STOPS_ARE_TOLD),
    ("programs_come_to_results", 79, STOPS_ARE_TOLD),
    ("programs_tell_of_their_calls", 230, STOPS_ARE_TOLD),
    ("programs_tell_of_their_calls", 247, STOPS_ARE_TOLD),
    ("random_world_1", 26, ANSWERS_ARE_RESERVED),
    ("random_world_1", 29, STOPS_ARE_TOLD),
    ("random_world_1", 30, BROKEN_ATTEMPTS_COUNT),
    ("random_world_2", 12, ANSWERS_ARE_RESERVED),
    ("random_world_2", 21, BROKEN_ATTEMPTS_COUNT),
    ("random_world_2", 30, COMPACTIONS_LEAVE_MORE),
    ("random_world_3", 21, BROKEN_ATTEMPTS_COUNT),
    ("random_world_3", 30, ANSWERS_ARE_RESERVED),
    ("random_world_3", 43, ANSWERS_ARE_RESERVED),
    ("random_world_5", 5, ANSWERS_ARE_RESERVED),
    ("random_world_5", 9, LOST_SUMMARIES_COUNT),
    ("random_world_5", 13, ANSWERS_ARE_RESERVED),
    ("random_world_5", 15, ANSWERS_ARE_RESERVED),
    ("random_world_5", 17, ANSWERS_ARE_RESERVED),
    ("random_world_5", 18, ANSWERS_ARE_RESERVED),
    ("random_world_5", 19, ANSWERS_ARE_RESERVED),
    ("random_world_6", 9, EACH_HOOK_OF_AN_END),
    ("random_world_6", 13, STOPS_ARE_TOLD),
    ("random_world_7", 7, EACH_HOOK_OF_AN_END),
    ("random_world_7", 18, STOPS_ARE_TOLD),
    ("random_world_7", 20, STOPS_ARE_TOLD),
    ("random_world_7", 22, STOPS_ARE_TOLD),
    ("random_world_7", 23, BROKEN_ATTEMPTS_COUNT),
    ("random_world_7", 26, STOPS_ARE_TOLD),
    ("random_world_8", 5, ANSWERS_ARE_RESERVED),
    ("random_world_8", 7, ANSWERS_ARE_RESERVED),
    ("random_world_8", 11, ANSWERS_ARE_RESERVED),
    ("random_world_8", 17, RESULTS_ARE_CUT),
    ("recorded_hooks", 32, EACH_HOOK_OF_AN_END),
    ("recorded_hooks", 38, EACH_HOOK_OF_AN_END),
    ("recorded_interrupted", 12, STOPS_ARE_TOLD),
    ("recorded_nobody_to_ask", 13, DENIALS_SAY_SO),
    ("said_under_keys", 17, BROKEN_ATTEMPTS_COUNT),
];
