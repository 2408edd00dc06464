//! The port: worlds, limits, what lasts, calls and answers.

use std::sync::Arc;

use windlass_core::{ProgramEnd, ProgramFault, ProgramLimits, RetainedMemory};
use windlass_ports::{
    CancelSource, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramRuntime,
    ProgramStep,
};

use crate::PtcLisp;

fn world() -> ProgramEnvironment {
    ProgramEnvironment { tools: vec!["get".into()], ..ProgramEnvironment::default() }
}

/// Runs a program, each of its calls answered with a text.
fn run_in(
    source: &str,
    world: &ProgramEnvironment,
    answer: &str,
) -> (Vec<ProgramCall>, ProgramResult) {
    let refused = |fault| {
        let end = ProgramEnd::Fault(fault);
        let done = ProgramResult {
            end,
            prints: Vec::new(),
            retained: Vec::new(),
            defined: Vec::new(),
            alive: Vec::new(),
            steps: 0,
        };
        (Vec::new(), done)
    };
    let prepared = match PtcLisp.prepare(source, world) {
        Ok(prepared) => prepared,
        Err(fault) => return refused(fault),
    };
    let mut run = match prepared.start() {
        Ok(run) => run,
        Err(fault) => return refused(fault),
    };
    let mut calls = Vec::new();
    let mut step = run.resume(Vec::new());
    loop {
        match step {
            ProgramStep::Done(done) => return (calls, *done),
            ProgramStep::Calls(made) => {
                let answers = made.iter().map(|_| ProgramAnswer::Done(answer.into()));
                step = run.resume(answers.collect());
                calls.extend(made);
            }
        }
    }
}

/// Gives the next program what this one left.
fn keep(world: &mut ProgramEnvironment, done: &ProgramResult) {
    Arc::make_mut(&mut world.memory).apply(&done.retained);
}

fn run(source: &str) -> ProgramResult {
    run_in(source, &world(), "null").1
}

fn shown(end: &ProgramEnd) -> String {
    match end {
        ProgramEnd::Value { value } => value.to_string(),
        ProgramEnd::Return { value } => format!("return {value}"),
        ProgramEnd::Fail { value } => format!("fail {value}"),
        ProgramEnd::Fault(fault) => fault.to_string(),
    }
}

fn fault(done: &ProgramResult) -> &ProgramFault {
    let ProgramEnd::Fault(fault) = &done.end else { panic!("{:?}", done.end) };
    fault
}

#[test]
fn a_definition_at_the_end_is_no_value_of_a_program_that_must_return() {
    let last = ProgramEnvironment { must_return: true, ..world() };
    let end = |source: &str| shown(&run_in(source, &last, "null").1.end);
    for source in ["(def x 1)", "(defn f [x] x)", "(when true (def x 1))", "(println 1)", "nil"] {
        assert_eq!(end(source), "null", "{source}");
    }
    assert_eq!(end("(def x 1) x"), "1");
    assert_eq!(end("(return nil)"), "return null");
    assert_eq!(shown(&run("(def x 1)").end), "\"#'x\"");
}

#[test]
fn values_are_json() {
    for (source, json) in [
        ("{:b 1 \"a\" [nil true 1.5 :k #{2 1}]}", r#"{"a":[null,true,1.5,"k",[1,2]],"b":1}"#),
        ("(return [##NaN 'sym inc #\"a\"])", r##"return ["NaN","'sym","#<builtin>","#\"a\""]"##),
        ("(fail {:why \"no\"})", r#"fail {"why":"no"}"#),
        ("123456789012345678901234567890", r#""123456789012345678901234567890""#),
    ] {
        assert_eq!(shown(&run(source).end), json, "{source}");
    }
}

#[test]
fn a_call_has_its_arguments_as_json_and_its_answer_is_data_or_text() {
    let source = "(let [a (tool/get {:b-c 1 \"x-y\" {:k [:v]}})] [a (type a)])";
    for (answer, gives) in [
        ("{\"n\": 1}", r#"[{"n":1},"map"]"#),
        (" [1, 2] ", r#"[[1,2],"vector"]"#),
        ("12", r#"[12,"number"]"#),
        ("-1.5", r#"[-1.5,"number"]"#),
        ("1.0", r#"["1.0","string"]"#),
        ("1.10", r#"["1.10","string"]"#),
        ("007", r#"["007","string"]"#),
        ("1e3", r#"["1e3","string"]"#),
        ("true", r#"[true,"boolean"]"#),
        ("null", "[null,null]"),
        ("[1, 2] and more", r#"["[1, 2] and more","string"]"#),
        ("\"a \\u00e4\"", r#"["a ä","string"]"#),
        ("\"a\" and \"b\"", r#"["\"a\" and \"b\"","string"]"#),
        ("", r#"["","string"]"#),
    ] {
        let (calls, done) = run_in(source, &world(), answer);
        assert_eq!(shown(&done.end), gives);
        assert_eq!(calls.len(), 1);
        assert_eq!(&*calls[0].name, "get");
        assert_eq!(calls[0].arguments, r#"{"b_c":1,"x-y":{"k":["v"]}}"#);
    }
    let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
    let (_, done) = run_in("(count (tool/get))", &world(), &deep);
    assert_eq!(shown(&done.end), "250");
}

#[test]
fn what_changes_json_finds_what_reads_it() {
    let user = r#"{"age":41,"password":"p"}"#;
    for (source, gives) in [
        ("(return (dissoc (update u :age inc) :password))", r#"return {"age":42}"#),
        ("(return (assoc u :age 1 \"password\" nil))", r#"return {"age":1,"password":null}"#),
        ("(return {:user [{:age 1 \"age\" 2}]})", "duplicate_key"),
        ("{:age 1 \"age\" 2}", "duplicate_key"),
        ("(fail {:age 1 \"age\" 2})", "duplicate_key"),
        ("(tool/get {:who {:age 1 \"age\" 2}})", "duplicate_key"),
    ] {
        let source = format!("(let [u (tool/get)] {source})");
        let (_, done) = run_in(&source, &world(), user);
        assert!(shown(&done.end).contains(gives), "{source}: {}", shown(&done.end));
    }
}

#[test]
fn the_tools_of_a_workspace_give_text_whatever_it_is() {
    let tools = ["read_file", "shell"].map(Arc::from).to_vec();
    let world = ProgramEnvironment { tools, ..ProgramEnvironment::default() };
    for (source, answer, gives) in [
        ("(tool/shell {})", "12\n", r#""12""#),
        ("(tool/shell {})", "a\r\n\n", r#""a\r\n""#),
        ("(tool/shell {})", "", r#""""#),
        ("(tool/shell {})", "{\"a\":1}\n", r#""{\"a\":1}""#),
        ("(tool/read_file {})", "[1]\n", r#""[1]\n""#),
        ("(tool/read_file {})", "true", r#""true""#),
        ("(json/parse-string (tool/read_file {}))", "[1]\n", "[1]"),
        ("(pmap #(% {}) [tool/shell tool/read_file])", "1\n", r#"["1","1\n"]"#),
    ] {
        let (_, done) = run_in(source, &world, answer);
        assert_eq!(shown(&done.end), gives, "{source}");
    }
}

#[test]
fn the_same_arguments_are_the_same_text_however_they_are_written() {
    let calls = |source: &str| run_in(source, &world(), "1").0;
    let one = calls("(tool/get {:b 2 :a {:y 1 :x 2}})");
    assert_eq!(one, calls("(tool/get :a {:x 2 :y 1} :b 2)"));
    assert_eq!(one, calls("(tool/get {\"a\" (assoc {} \"y\" 1 \"x\" 2) \"b\" 2})"));
}

#[test]
fn a_tool_that_fails_ends_the_program() {
    let prepared = PtcLisp.prepare("(def x 1)\n (tool/get)", &world()).unwrap();
    let mut run = prepared.start().unwrap();
    assert!(matches!(run.resume(Vec::new()), ProgramStep::Calls(calls) if calls.len() == 1));
    let step = run.resume(vec![ProgramAnswer::Failed("denied".into())]);
    let ProgramStep::Done(done) = step else { panic!("it has failed") };
    let told = fault(&done);
    assert_eq!((told.class.as_str(), told.line, told.column), ("tool_error", Some(2), Some(2)));
    assert!(told.message.contains("denied"));
    assert_eq!((done.retained, done.defined), (Vec::new(), Vec::new()));
}

#[test]
fn where_there_are_no_tools_a_program_that_names_one_is_refused() {
    let bare = ProgramEnvironment::default();
    let (_, done) = run_in("(println 1) (tool/get {})", &bare, "1");
    let told = fault(&done);
    assert_eq!(told.class, "unknown_tool");
    assert!(told.message.contains("Tools cannot be called now"), "{told}");
    assert!(done.prints.is_empty());
    // Nor is one reached through a function that an earlier program left.
    let (_, kept) = run_in("(defn f [] (tool/get {}))", &world(), "1");
    let mut later = bare;
    keep(&mut later, &kept);
    let (calls, done) = run_in("(f)", &later, "1");
    assert_eq!(fault(&done).class, "unknown_tool");
    assert!(calls.is_empty());
}

#[test]
fn the_failure_of_the_program_before_is_an_input() {
    let failure = windlass_core::ProgramFailure {
        reason: "type_error".to_owned(),
        message: "no \"number\"".to_owned(),
    };
    let failed = ProgramEnvironment { failure: Some(Arc::new(failure)), ..world() };
    let own = ProgramEnvironment { data: Some("{\"fail\":7}".into()), ..failed.clone() };
    let told = r#"{"details":{},"message":"no \"number\"","reason":"type_error"}"#;
    for (source, world, meant) in [
        ("data/fail", &world(), "null"),
        ("data/fail", &failed, told),
        (
            "[(= :type_error (:reason data/fail)) (keys data/fail)]",
            &failed,
            r#"[true,["details","message","reason"]]"#,
        ),
        ("data/fail", &own, "7"),
    ] {
        let (_, done) = run_in(source, world, "1");
        assert_eq!(done.end, ProgramEnd::Value { value: meant.into() }, "{source}");
    }
}

#[test]
fn inputs_are_read_and_those_that_are_not_there_refuse_the_program() {
    let mut world = world();
    world.data = Some(r#"{"rows": [{"n": 1}, {"n": 2}], "x-y": 3}"#.into());
    let (_, done) = run_in("[(map :n data/rows) data/x-y]", &world, "1");
    assert_eq!(shown(&done.end), "[[1,2],3]");
    let (calls, done) = run_in("(tool/get)\n(map (fn [] data/row) [1])", &world, "1");
    let told = fault(&done);
    assert!(calls.is_empty());
    assert_eq!((told.class.as_str(), told.line, told.column), ("unbound_var", Some(2), Some(13)));
    assert!(told.hint.as_deref().is_some_and(|hint| hint.contains("data/rows")), "{told}");
}

#[test]
fn a_world_that_cannot_be_had_is_told_at_the_start() {
    for (data, memory) in [(Some("[1]"), None), (Some("{"), None), (None, Some("{}"))] {
        let world = ProgramEnvironment {
            data: data.map(Arc::from),
            memory: Arc::new(RetainedMemory { base: memory.map(Arc::from), ..Default::default() }),
            ..ProgramEnvironment::default()
        };
        let prepared = PtcLisp.prepare("(anything 1)", &world).unwrap();
        let told = prepared.start().map(|_| ()).unwrap_err();
        assert_eq!(told.class, "invalid_world");
        assert!(PtcLisp.prepare("(tool/get)", &world).is_err());
        assert!(PtcLisp.prepare("(if", &world).is_err());
    }
}

#[test]
fn what_lasts_goes_on_and_failures_leave_nothing() {
    let mut world = world();
    let steps = [
        ("(def n 1) (defn f [x] (+ x n)) (f 1)", "2", true),
        ("(def n 5) (f *1)", "7", true),
        ("(def n 100) (nowhere)", "unbound_var", false),
        ("(def n 100) (+ 1 nil)", "type_error", false),
        ("(def n 100) (fail 1)", "fail 1", false),
        ("[*1 *2 *3 (f 0)]", "[7,2,null,5]", true),
        ("(return (f 1))", "return 6", false),
        ("(def n 6) (return (f *2))", "return 13", true),
        ("(f 0)", "6", true),
    ];
    for (source, expected, changes) in steps {
        let (_, done) = run_in(source, &world, "1");
        assert!(shown(&done.end).contains(expected), "{source}: {:?}", done.end);
        assert_eq!(!done.retained.is_empty(), changes, "{source}");
        keep(&mut world, &done);
    }
    let done = run("(def b 1) (defn a [] 1) (def b 2) (defonce c 3)");
    assert_eq!(done.defined, ["a", "b", "c"]);
}

#[test]
fn what_lasts_is_bounded_and_older_results_are_forgotten_first() {
    let mut world = world();
    world.limits.retained_bytes = 1500;
    let text = "(apply str (repeat 600 \"x\"))";
    for _ in 0..4 {
        let (_, done) = run_in(text, &world, "1");
        keep(&mut world, &done);
    }
    let (_, done) = run_in("[(count *1) (count *2) *3]", &world, "1");
    assert_eq!(shown(&done.end), "[600,600,null]");
    for source in [
        "(def s (apply str (repeat 2000 \"x\"))) 1",
        "(def s (apply str (repeat 2000 \"x\"))) (return 1)",
        "(apply str (repeat 2000 \"x\"))",
    ] {
        let (_, done) = run_in(source, &world, "1");
        let told = fault(&done);
        assert_eq!(told.class, "kept_limit_exceeded", "{source}");
        assert!(told.hint.as_deref().is_some_and(|hint| hint.contains("(def name nil)")));
        assert_eq!((done.retained, done.defined), (Vec::new(), Vec::new()));
    }
}

#[test]
fn a_change_is_recorded_alone_also_over_a_memory_that_was_recorded_whole() {
    let mut session = windlass_kit_ptclisp::LispSession::default();
    session.definitions.insert("n".into(), windlass_kit_ptclisp::Value::Int(1));
    session.history = (1..=3).map(windlass_kit_ptclisp::Value::Int).collect();
    let mut world = world();
    let base = Some(session.to_text(1_000).unwrap().into());
    world.memory = Arc::new(RetainedMemory { base, ..RetainedMemory::default() });
    let (_, done) = run_in("(defn f [x] (+ x n)) (return [n *1 *2 *3])", &world, "1");
    assert_eq!(shown(&done.end), "return [1,3,2,1]");
    let names = |done: &ProgramResult| -> Vec<String> {
        done.retained.iter().map(|change| change.name.to_string()).collect()
    };
    assert_eq!(names(&done), ["f"]);
    let listed = done.alive.iter().map(|one| format!("{} = {}", one.name, one.preview));
    assert_eq!(listed.collect::<Vec<_>>(), ["f = (fn [x])", "n = 1"]);
    keep(&mut world, &done);
    // The results of the whole memory become entries with the first one after it.
    let (_, done) = run_in("(def n 2) (f 40)", &world, "1");
    assert_eq!(names(&done), ["n", "result 0", "result 1", "result 2"]);
    keep(&mut world, &done);
    let (_, done) = run_in("(def n 2) [n *1 *2 *3]", &world, "1");
    assert_eq!(shown(&done.end), "[2,42,3,2]");
    assert_eq!(names(&done), ["result 0"]);
    keep(&mut world, &done);
    let (_, done) = run_in("(return [(count *1) *2 *3 (f 1)])", &world, "1");
    assert_eq!(shown(&done.end), "return [4,42,3,3]");
    assert_eq!(names(&done), [] as [&str; 0]);
}

#[test]
fn each_limit_has_a_fault_of_its_own() {
    let wide = ProgramLimits::default();
    for (source, limits, class) in [
        ("(loop [] (recur))", wide, "fuel_exceeded"),
        ("(loop [] (recur))", ProgramLimits { loop_rounds: 10, ..wide }, "loop_limit_exceeded"),
        ("(range 100)", ProgramLimits { steps: 20, ..wide }, "fuel_exceeded"),
        ("(range 10000)", ProgramLimits { memory_bytes: 1000, ..wide }, "memory_exceeded"),
        ("(defn f [] (inc (f))) (f)", ProgramLimits { depth: 9, ..wide }, "depth_exceeded"),
        ("(tool/get) (tool/get)", ProgramLimits { calls: 1, ..wide }, "tool_call_limit_exceeded"),
        ("(inc 1)", ProgramLimits { source_bytes: 3, ..wide }, "program_too_large"),
        ("(println \"long\")", ProgramLimits { print_bytes: 3, ..wide }, "print_limit_exceeded"),
        ("\"long\"", ProgramLimits { value_bytes: 5, ..wide }, "value_limit_exceeded"),
        ("(range 99)", ProgramLimits { value_bytes: 50, ..wide }, "value_limit_exceeded"),
        ("(fail \"long\")", ProgramLimits { value_bytes: 5, ..wide }, "value_limit_exceeded"),
        ("(def a 1)", ProgramLimits { retained_bytes: 9, ..wide }, "kept_limit_exceeded"),
    ] {
        let world = ProgramEnvironment { limits, ..world() };
        let (_, done) = run_in(source, &world, "1");
        let told = fault(&done);
        assert_eq!(told.class, class, "{source}");
        assert!(told.hint.is_some(), "{told}");
        let (_, again) = run_in(source, &world, "1");
        assert_eq!(done, again, "{source}");
    }
    let limits = ProgramLimits { value_bytes: 6, ..wide };
    let (_, done) = run_in("\"long\"", &ProgramEnvironment { limits, ..world() }, "1");
    assert_eq!(shown(&done.end), "\"long\"");
}

#[test]
fn a_program_that_is_told_to_stop_stops_soon() {
    let source = CancelSource::new();
    let mut world = world();
    world.cancel = source.signal();
    world.limits.steps = u64::MAX;
    let mut run = PtcLisp.prepare("(loop [] (recur))", &world).unwrap().start().unwrap();
    let thread = std::thread::spawn(move || run.resume(Vec::new()));
    source.cancel();
    let ProgramStep::Done(done) = thread.join().unwrap() else { panic!("it calls nothing") };
    let told = fault(&done);
    assert_eq!((told.class.as_str(), told.line), (ProgramFault::STOPPED, None));
    // One that waits for an answer stops as well.
    let source = CancelSource::new();
    world.cancel = source.signal();
    let mut run = PtcLisp.prepare("(tool/get)", &world).unwrap().start().unwrap();
    assert!(matches!(run.resume(Vec::new()), ProgramStep::Calls(_)));
    source.cancel();
    let ProgramStep::Done(done) = run.resume(vec![ProgramAnswer::Done("1".into())]) else {
        panic!("it was told to stop")
    };
    assert_eq!(fault(&done).class, ProgramFault::STOPPED);
}

#[test]
fn going_on_with_the_wrong_answers_ends_with_a_fault() {
    let start = || PtcLisp.prepare("(tool/get)", &world()).unwrap().start().unwrap();
    let one = || ProgramAnswer::Done("1".into());
    let ended = |step: ProgramStep| match step {
        ProgramStep::Done(done) => fault(&done).class.clone(),
        ProgramStep::Calls(calls) => panic!("{calls:?}"),
    };
    assert_eq!(ended(start().resume(vec![one()])), "misuse");
    for answers in [vec![], vec![one(), one()]] {
        let mut run = start();
        run.resume(Vec::new());
        assert_eq!(ended(run.resume(answers)), "misuse");
        assert_eq!(ended(run.resume(vec![one()])), "misuse");
    }
    let mut run = start();
    run.resume(Vec::new());
    assert!(matches!(run.resume(vec![one()]), ProgramStep::Done(done) if shown(&done.end) == "1"));
    assert_eq!(ended(run.resume(Vec::new())), "misuse");
}

#[test]
fn repairs_are_told_in_words() {
    let prepared = PtcLisp.prepare("(inc 1))", &world()).unwrap();
    assert_eq!(prepared.repairs(), ["left out a ')' too many at line 1, column 8"]);
}
