//! The conformance suite of the provider port: one case for each promise in [`Provider`]'s
//! documentation, against a [`ModelServer`](crate::http::ModelServer) whose every byte is
//! scripted. [`provider_suite!`](crate::provider_suite) makes tests of them.
//!
//! What is particular to one provider (its own names of models, its headers, its protocol's rarer
//! events) is not here: the adapter tests it beside the suite. That no case passes without looking
//! is shown by `testkit/tests/provider_suite_bites`, where each one meets a provider that breaks
//! just its promise.

mod asking;
mod bounding;
mod breaking;
mod cutting;
mod declaring;
mod meaning;
mod refusing;
mod running;
mod saying;
mod talk;

use std::sync::Arc;
use std::time::Duration;

use windlass_ports::Provider;

pub use asking::*;
pub use bounding::*;
pub use breaking::*;
pub use cutting::*;
pub use declaring::*;
pub use meaning::*;
pub use refusing::*;
pub use running::*;
pub use saying::*;

use crate::answer::MODEL;
use crate::http::Protocol;
use crate::store::Checked;

/// A provider under test: how it is made for a server.
pub trait ProviderFixture: Send + Sync {
    /// The protocol that it speaks: one of the kit ([`Dialect`](crate::http::Dialect)), or any.
    fn protocol(&self) -> &'static dyn Protocol;

    /// A new provider that asks the server at this endpoint.
    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider>;

    /// The model that is asked, of which the provider declares what it takes.
    fn model(&self) -> &str {
        MODEL
    }

    /// How long it may take to close the connection of a sample that nobody waits for any more,
    /// and samples that run at once to be under way.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// Where a provider under test asks, as whom, and how much it may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Endpoint {
    /// The base URL, such as `http://127.0.0.1:PORT/v1`.
    pub base_url: String,
    /// The key that it shows, and shows nobody else.
    pub key: String,
    /// The most bytes that it takes of one line, of one event and of one answer.
    pub most_bytes: usize,
}

/// One case of the suite: holds a provider to one promise.
pub type Case = fn(&dyn ProviderFixture) -> Checked;

/// Expands to one `#[test]` a case of the provider suite, each on a fixture of its own.
///
/// The argument is an expression of a type that implements
/// [`ProviderFixture`](crate::provider::suite::ProviderFixture). A provider of two protocols runs it
/// twice, each in a module of its own.
#[macro_export]
macro_rules! provider_suite {
    ($fixture:expr) => {
        $crate::provider_cases! { [$crate::suite_tests] provider_suite, provider::suite, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! provider_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            an_answer_is_read_as_it_was_given,
            usage_and_the_reason_to_stop_are_told,
            calls_of_one_id_are_all_told,
            pieces_of_any_size_make_the_same_answer,
            an_answer_may_come_as_one_body,
            line_ends_and_keep_alives_change_nothing,
            a_wait_may_be_dropped_at_every_byte,
            a_connection_closed_at_any_byte_is_no_answer,
            a_body_cut_short_at_any_byte_is_no_answer,
            a_connection_reset_at_any_byte_is_no_answer,
            a_repeated_event_is_told_once,
            an_event_that_is_missing_is_no_shorter_answer,
            data_that_cannot_be_read_is_an_error,
            an_error_inside_an_answer_is_an_error,
            an_empty_answer_is_an_error,
            a_page_is_no_answer,
            a_length_that_lies_is_no_answer,
            what_is_compressed_is_no_answer,
            bytes_that_are_no_text_are_not_dropped,
            a_line_without_an_end_is_too_large,
            an_event_without_an_end_is_too_large,
            an_answer_without_an_end_is_too_large,
            a_refusal_without_an_end_is_read_in_part,
            a_refusal_has_its_class,
            a_refusal_is_told_from_its_words,
            a_wait_that_is_asked_for_is_told,
            a_redirect_is_not_followed,
            nobody_there_is_unavailable,
            one_request_is_sent_for_one_sample,
            the_key_is_shown_to_the_server_alone,
            a_dropped_answer_ends_its_request,
            a_dropped_sample_ends_its_request,
            answers_at_once_do_not_mix,
            a_provider_goes_on_after_a_failure,
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
            all_that_was_said_is_sent,
            calls_keep_their_names,
            what_is_declared_is_done,
            what_is_not_declared_is_unsupported,
            sources_are_told_where_searches_are_declared,
            reasoning_comes_back_as_declared,
            the_opaque_part_of_a_call_comes_back,
        }
    };
}

crate::provider_cases! { [crate::suite::table] }
