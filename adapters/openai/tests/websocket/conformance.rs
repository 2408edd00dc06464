//! Holds Responses over WebSockets to those promises of the provider port whose cases do not
//! depend on the framing of HTTP. Which ones do, and where the same is tested for WebSockets, is
//! said here, and a case that is on neither list fails.

use std::sync::Arc;

use windlass_http::http_wire;
use windlass_kit_http::SseCaps;
use windlass_openai::{Api, OpenAi, OpenAiConfig};
use windlass_ports::Provider;
use windlass_testkit::http::{Dialect, Protocol};
use windlass_testkit::provider::suite::{self, Endpoint, ProviderFixture};

struct Sockets;

impl ProviderFixture for Sockets {
    fn protocol(&self) -> &'static dyn Protocol {
        &Dialect::Responses
    }

    fn model(&self) -> &str {
        "gpt-5"
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        let config = OpenAiConfig::new(Api::Responses).with_base_url(&*at.base_url);
        let config = config.with_api_key(&*at.key).with_websocket();
        let openai = OpenAi::over(&config, http_wire(&at.base_url).unwrap()).unwrap();
        Arc::new(openai.with_caps(SseCaps::of(at.most_bytes)))
    }
}

macro_rules! held {
    ($($name:ident),* $(,)?) => {
        const HELD: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                suite::$name(&Sockets).unwrap();
            }
        )*
    };
}

held! {
    all_that_was_said_is_sent,
    an_answer_is_read_as_it_was_given,
    usage_and_the_reason_to_stop_are_told,
    calls_of_one_id_are_all_told,
    pieces_of_any_size_make_the_same_answer,
    a_repeated_event_is_told_once,
    an_error_inside_an_answer_is_an_error,
    bytes_that_are_no_text_are_not_dropped,
    a_line_without_an_end_is_too_large,
    an_event_without_an_end_is_too_large,
    an_answer_without_an_end_is_too_large,
    a_refusal_has_its_class,
    a_refusal_is_told_from_its_words,
    a_wait_that_is_asked_for_is_told,
    nobody_there_is_unavailable,
    a_dropped_sample_ends_its_request,
    answers_at_once_do_not_mix,
    requests_keep_the_grammar,
    no_longer_answer_is_asked_for_than_is_left,
    calls_keep_their_results,
    the_instructions_are_sent,
    each_tool_is_sent_whole,
    the_choice_of_tools_is_sent,
    each_effort_is_sent,
    images_are_sent_as_declared,
    the_schema_of_the_answer_is_sent_as_declared,
    failed_results_say_so,
    a_conversation_keeps_its_order,
    calls_keep_their_names,
    the_opaque_part_of_a_call_comes_back,
    sources_are_told_where_searches_are_declared,
    what_is_declared_is_done,
    what_is_not_declared_is_unsupported,
}

/// Cases of HTTP, with the reason, or with the test in the files beside this one that holds the same promise.
const OF_HTTP: &[(&str, &str)] = &[
    ("an_answer_may_come_as_one_body", "a body in place of a stream"),
    ("data_that_cannot_be_read_is_an_error", "data of server-sent events"),
    ("line_ends_and_keep_alives_change_nothing", "lines of server-sent events"),
    ("a_wait_may_be_dropped_at_every_byte", "it waits for a head before the first byte"),
    ("a_connection_closed_at_any_byte_is_no_answer", "an_answer_cut_at_any_byte_is_no_answer"),
    ("a_body_cut_short_at_any_byte_is_no_answer", "an_answer_cut_at_any_byte_is_no_answer"),
    ("a_connection_reset_at_any_byte_is_no_answer", "an_answer_cut_at_any_byte_is_no_answer"),
    ("an_empty_answer_is_an_error", "a message without a body is none"),
    ("a_page_is_no_answer", "a page is a refused handshake"),
    ("a_length_that_lies_is_no_answer", "lengths of a body"),
    ("what_is_compressed_is_no_answer", "codings of a body"),
    ("a_refusal_without_an_end_is_read_in_part", "a body without an end"),
    ("a_redirect_is_not_followed", "a_redirected_handshake_is_not_followed"),
    ("one_request_is_sent_for_one_sample", "an_answer_cut_at_any_byte_is_no_answer"),
    // A socket stays open after the last event, so the time-out between events ends such an answer.
    ("an_event_that_is_missing_is_no_shorter_answer", "an_answer_cut_at_any_byte_is_no_answer"),
    ("the_key_is_shown_to_the_server_alone", "the_key_is_shown_to_the_server_alone"),
    ("a_dropped_answer_ends_its_request", "a_dropped_answer_ends_its_request"),
    (
        "a_provider_goes_on_after_a_failure",
        "a_break_is_an_error_and_the_next_attempts_go_safer_ways",
    ),
    ("reasoning_comes_back_as_declared", "reasoning_that_the_server_has_is_not_sent_again"),
];

macro_rules! names {
    ([] $($name:ident,)*) => { const ALL: &[&str] = &[$(stringify!($name)),*]; };
}

windlass_testkit::provider_cases! { [names] }

#[test]
fn every_case_of_the_suite_is_held_or_has_a_reason() {
    let mut known: Vec<&str> = OF_HTTP.iter().map(|(name, _)| *name).collect();
    known.extend(HELD);
    known.sort_unstable();
    let mut all = ALL.to_vec();
    all.sort_unstable();
    assert_eq!(known, all);
}
