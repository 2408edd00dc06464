//! Where a recording and what happens here are both meant.

use super::{BOTH, Known, NEW, OLD};

pub(crate) const DESIGN: &[Known] = &[
    Known {
        what: "the sample after a rejected return",
        turns: &[
            (BOTH, "sig-int-vs-float", &[("kind 2", "retry")]),
            (NEW, "sig-list-item-error", &[("kind 2", "retry")]),
            (NEW, "sig-nested-path", &[("kind 2", "retry")]),
            (NEW, "tc-bad-json-final", &[("kind 3", "retry")]),
            (
                OLD,
                "max-turns-fallback-sig-mismatch",
                &[
                    ("outcome", "failed: invalid_request"),
                    ("requests", "3"),
                    ("cycles", "3"),
                    ("success 2", "false"),
                    ("result 2", "rejected"),
                ],
            ),
        ],
    },
    Known {
        what: "a turn of one sample",
        turns: &[
            (BOTH, "single-shot-fail", &[("kind 1", "must_return")]),
            (
                NEW,
                "single-shot-runtime-error",
                &[("outcome", "invalid_output"), ("kind 1", "must_return")],
            ),
            (OLD, "single-shot-runtime-error", &[("kind 1", "must_return")]),
        ],
    },
    Known {
        what: "an answer without a program",
        turns: &[
            (
                BOTH,
                "no-code",
                &[
                    ("value", "the text of an answer"),
                    ("requests", "1"),
                    ("cycles", "1"),
                    ("success 1", "true"),
                    ("result 1", "no result"),
                ],
            ),
            (
                NEW,
                "retry-consumed-by-parse-error",
                &[
                    ("value", "the text of an answer"),
                    ("requests", "2"),
                    ("cycles", "2"),
                    ("success 2", "true"),
                    ("result 2", "no result"),
                ],
            ),
            (
                NEW,
                "tc-bad-json-final",
                &[("result 2", "invalid_output"), ("result 3", "no result")],
            ),
        ],
    },
    Known {
        what: "a block that is no program here",
        turns: &[
            (
                NEW,
                "other-language-block",
                &[("program 1", r#""```python\nprint(1)\n```""#), ("result 1", "not_run")],
            ),
            (
                NEW,
                "tc-fenced-content-rejected",
                &[("program 1", r#""```clojure\n(return 1)\n```""#), ("result 1", "not_run")],
            ),
        ],
    },
    Known {
        what: "a bare value in the last sample",
        turns: &[
            (
                NEW,
                "retry-phase-bare-value-continues",
                &[("value", "2"), ("requests", "2"), ("cycles", "2")],
            ),
            (
                NEW,
                "explicit-completion-bare-final",
                &[
                    ("outcome", "completed"),
                    ("value", "4"),
                    ("success 2", "true"),
                    ("result 2", "4"),
                ],
            ),
            (
                NEW,
                "explicit-completion-bare-final-retry-left",
                &[
                    ("outcome", "completed"),
                    ("value", "4"),
                    ("success 2", "true"),
                    ("result 2", "4"),
                ],
            ),
            (
                OLD,
                "turn-budget",
                &[("outcome", "completed"), ("value", "2"), ("kind 2", "must_return")],
            ),
        ],
    },
    Known {
        what: "no result in the last sample",
        turns: &[
            (
                BOTH,
                "max-turns-fallback-uses-latest-success",
                &[("outcome", "invalid_output"), ("value", "nothing")],
            ),
            (OLD, "max-turns-no-success", &[("outcome", "invalid_output"), ("value", "nothing")]),
            (
                OLD,
                "token-limit-partial-no-success",
                &[("outcome", "exhausted: tokens"), ("value", "nothing")],
            ),
        ],
    },
    Known {
        what: "definitions that are too large, where that was to end the turn",
        turns: &[(
            OLD,
            "memory-limit-strict",
            &[("outcome", "completed"), ("value", "1"), ("requests", "2"), ("cycles", "2")],
        )],
    },
    Known {
        what: "a sample that the tokens left do not pay for",
        turns: &[
            (BOTH, "token-limit-partial-no-success", &[("requests", "1")]),
            (OLD, "token-limit-fail", &[("requests", "1")]),
        ],
    },
    Known {
        what: "the failure of a tool, as the next program reads it",
        turns: &[(
            NEW,
            "tool-raise",
            &[
                ("value", r#"{"details":{},"reason":"tool_error"}"#),
                ("result 2", r#"{"details":{},"reason":"tool_error"}"#),
            ],
        )],
    },
    Known {
        what: "a sample that failed",
        turns: &[
            (BOTH, "llm-error-second-turn", &[("cycles", "2")]),
            (OLD, "llm-error", &[("cycles", "1")]),
        ],
    },
    Known {
        what: "a call of a tool that is not offered",
        turns: &[(
            NEW,
            "tc-unknown-tool",
            &[("result 1", "not_run"), ("calls 1", r#"search {"program":"(return 1)"} -> null"#)],
        )],
    },
];
