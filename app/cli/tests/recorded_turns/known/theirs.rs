//! Where a recording shows a defect.

use super::{BOTH, Known, NEW, OLD};

pub(crate) const THEIRS: &[Known] = &[
    Known {
        what: "what a program had called and printed before it failed",
        turns: &[
            (NEW, "tool-error-tuple", &[("calls 1", r#"fail {"reason":"bad"} -> null"#)]),
            (
                NEW,
                "tool-error-after-side-effects",
                &[
                    ("prints 1", r#"["x","y"]"#),
                    ("calls 1", r#"echo {"v":1} -> {"v":1}, fail {"reason":"bad"} -> null"#),
                ],
            ),
            (
                NEW,
                "runtime-error-after-tool",
                &[("prints 1", r#"["x"]"#), ("calls 1", r#"echo {"v":1} -> {"v":1}"#)],
            ),
            (
                BOTH,
                "pmap-one-fails",
                &[(
                    "calls 1",
                    r#"add {"a":1,"b":1} -> 2, fail {} -> null, add {"a":3,"b":1} -> 4"#,
                )],
            ),
            (
                OLD,
                "tool-in-map",
                &[(
                    "calls 1",
                    r#"add {"a":1,"b":1} -> 2, add {"a":2,"b":1} -> 3, add {"a":3,"b":1} -> 4"#,
                )],
            ),
        ],
    },
    Known {
        what: "definitions that are too large together",
        turns: &[
            (
                NEW,
                "memory-limit-rollback",
                &[("result 1", "kept_limit_exceeded"), ("memory 1", "")],
            ),
            (OLD, "memory-limit-strict", &[("result 1", "kept_limit_exceeded"), ("memory 1", "")]),
        ],
    },
    Known {
        what: "a limit of calls, within a map",
        turns: &[(
            NEW,
            "max-tool-calls",
            &[
                ("success 1", "false"),
                ("result 1", "tool_call_limit_exceeded"),
                (
                    "calls 1",
                    r#"add {"a":1,"b":1} -> 2, add {"a":2,"b":1} -> 3, add {"a":3,"b":1} -> 4"#,
                ),
            ],
        )],
    },
    Known {
        what: "a tool that is called in the last sample",
        turns: &[
            (
                OLD,
                "single-shot-with-tools-bare",
                &[
                    ("outcome", "invalid_output"),
                    ("value", "nothing"),
                    ("success 1", "false"),
                    ("result 1", "unknown_tool"),
                    ("calls 1", ""),
                ],
            ),
            (
                OLD,
                "must-return-tool-call-still-runs",
                &[
                    ("outcome", "invalid_output"),
                    ("value", "nothing"),
                    ("success 2", "false"),
                    ("result 2", "unknown_tool"),
                    ("calls 2", ""),
                ],
            ),
        ],
    },
    Known {
        what: "a program that gives up in the last sample",
        turns: &[(
            NEW,
            "single-shot-with-tools-fail",
            &[
                ("outcome", "failed: program"),
                ("value", "nothing"),
                ("success 1", "false"),
                ("result 1", r#"fail "no""#),
            ],
        )],
    },
    Known {
        what: "`*1` of a long value",
        turns: &[(OLD, "history-truncates-1k", &[("value", "2000"), ("result 2", "2000")])],
    },
    Known {
        what: "the language of the older release",
        turns: &[
            (
                OLD,
                "single-shot-runtime-error",
                &[
                    ("outcome", "invalid_output"),
                    ("value", "nothing"),
                    ("success 1", "false"),
                    ("result 1", "arithmetic_error"),
                ],
            ),
            (
                OLD,
                "history-skips-failed-turn",
                &[
                    ("value", "[3,1,null]"),
                    ("success 2", "false"),
                    ("result 2", "arithmetic_error"),
                    ("result 4", "[3,1,null]"),
                ],
            ),
            (
                OLD,
                "defonce",
                &[
                    ("outcome", "completed"),
                    ("value", "1"),
                    ("requests", "3"),
                    ("success 1", "true"),
                    ("result 1", r##""#'n""##),
                    ("memory 1", "n"),
                    ("success 2", "true"),
                    ("result 2", "1"),
                    ("memory 2", "n"),
                    ("success 3", "true"),
                    ("result 3", "1"),
                    ("memory 3", "n"),
                ],
            ),
            (
                OLD,
                "def-lost-on-error",
                &[
                    ("value", r#""recovered""#),
                    ("requests", "3"),
                    ("cycles", "3"),
                    ("success 1", "false"),
                    ("result 1", "arithmetic_error"),
                    ("memory 1", ""),
                    ("success 2", "false"),
                    ("result 2", "unbound_var"),
                    ("memory 2", ""),
                ],
            ),
            (
                OLD,
                "runtime-error-then-ok",
                &[("success 1", "false"), ("result 1", "arithmetic_error")],
            ),
            (
                OLD,
                "fail-visible-in-next-turn",
                &[
                    ("value", r#"{"details":{},"reason":"arithmetic_error"}"#),
                    ("success 1", "false"),
                    ("result 1", "arithmetic_error"),
                    ("result 2", r#"{"details":{},"reason":"arithmetic_error"}"#),
                ],
            ),
            (
                OLD,
                "fail-cleared-after-success",
                &[("success 1", "false"), ("result 1", "arithmetic_error")],
            ),
            (
                OLD,
                "max-turns-fallback-uses-latest-success",
                &[("success 2", "false"), ("result 2", "arithmetic_error")],
            ),
            (
                OLD,
                "max-turns-no-success",
                &[("success 1", "false"), ("result 1", "arithmetic_error")],
            ),
            (
                OLD,
                "token-limit-partial-no-success",
                &[("success 1", "false"), ("result 1", "arithmetic_error")],
            ),
        ],
    },
];
