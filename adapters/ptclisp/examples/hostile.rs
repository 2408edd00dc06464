//! Runs programs that mean harm within the default limits, each in a process of its own, and prints how long
//! it took, its steps, the most memory that was resident, and how it ended. It fails if
//! more than twice the limit was resident.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]

use std::process::{Command, ExitCode};
use std::time::Instant;

use windlass_core::ProgramEnd;
use windlass_ports::{ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramRuntime, ProgramStep};
use windlass_ptclisp::PtcLisp;

/// The programs by name.
fn programs() -> Vec<(&'static str, String)> {
    let text = "(def t (apply str (repeat 100000 \"ab é\")))";
    let long = "(def s (apply str (repeat 30000 \"a\")))";
    let forever = |body: &str| format!("(loop [n 0] {body} (recur (inc n)))");
    let on_text = |body: &str| format!("{text} {}", forever(body));
    let on_long = |body: &str| format!("{long} {body}");
    let data = "(def xs (mapv (fn [i] {:a (mod (* i 7919) 1000) :b (str i)}) (range 5000)))";
    let on_data = |body: &str| format!("{data} {}", forever(body));
    let deep = "(def d (reduce (fn [v _] [v]) [] (range 150)))";
    let shared = "(def x (reduce (fn [v _] [v v]) [1] (range 18)))";
    vec![
        ("endless loop", forever("nil")),
        ("endless recur", "((fn [] (recur)))".into()),
        ("loop of calls", format!("(defn f [x] x) {}", forever("(f n)"))),
        ("loop of closures", forever("((fn [x] (fn [] x)) n)")),
        ("loop of maps", forever("{:a n :b {:c n}}")),
        ("loop of destructuring", forever("(let [{:keys [a b]} {:a 1} [c & d] [1 2 3]] d)")),
        ("recursion", "(defn f [n] (+ 1 (f n))) (f 1)".into()),
        ("deep source", "[".repeat(30_000)),
        ("deep value", "(return (reduce (fn [v _] [v]) [] (range 1000000)))".into()),
        ("memory bomb of vectors", forever("(vec (range 1000))")),
        ("memory bomb kept", "(loop [all []] (recur (conj all (vec (range 1000)))))".into()),
        ("memory bomb of maps", "(loop [all {} n 0] (recur (assoc all n [n n n]) (inc n)))".into()),
        ("memory bomb of texts", "(reduce (fn [s _] (str s s)) \"aaaaaaaa\" (range 60))".into()),
        ("memory bomb of definitions", "(loop [n 0 m {}] (def a m) (recur (inc n) {:m (vec (range 100)) :n n}))".into()),
        ("large range", "(range 1000000000000)".into()),
        ("large range that fits", "(count (range 5000000))".into()),
        ("large number", "(reduce (fn [n _] (* n n)) 3 (range 60))".into()),
        ("factorial", "(reduce * (range 1 1000000))".into()),
        ("large shift", "(loop [n 1] (recur (bit-shift-left n 100000)))".into()),
        ("number as text", "(def n (reduce * (range 1 3000))) (loop [] (str n) (recur))".into()),
        ("quotients", "(def n (reduce * (range 1 3000))) (def m (reduce * (range 1 1500))) (loop [] (quot n m) (recur))".into()),
        ("catastrophic expression", on_long("(re-find #\"(a+)+$\" (str s \"b\"))")),
        ("catastrophic match", on_long("(re-matches #\"(a|aa)*b\" s)")),
        ("counted expression", on_long("(re-find #\"(?:a{1,50}){1,50}b\" s)")),
        ("thousands of states", on_long("(re-find #\"(?:a?){3000}b\" s)")),
        ("exponential automaton", on_long("(re-seq #\"[ab]*a[ab]{14}c|a\" s)")),
        ("searches to the end", on_long("(re-seq #\"a*b|a\" (str s s s s))")),
        ("searches of nothing", on_long("(re-seq #\"(?:x*y)?\" s)")),
        ("many groups", format!("{long} (re-find (re-pattern (apply str (repeat 300 \"(a?)\"))) s)")),
        ("words of a text", on_text("(re-seq #\"\\b\\w+\\b\" t)")),
        ("letters of a text", on_text("(replace t #\"(?i)[^a-zé]\" \"\")")),
        ("compiled anew", forever("(re-find (re-pattern (str \"\\\\w{20}a\" n)) \"a\")")),
        ("large ones compiled anew", forever("(re-find (re-pattern (str \"\\\\w{60}\\\\pL{10}\" n)) \"a\")")),
        ("checked anew", forever("(re-pattern (str \"\\\\pL\\\\w\\\\d\\\\S\\\\W\" n))")),
        ("expressions as literals", format!("[{}]", "#\"\\w\"".repeat(9000))),
        ("many literals", format!("[{}]", (0..9000).map(|n| format!("{n:x}a ")).collect::<String>().replace('a', ".5"))),
        ("a million calls", "(doseq [i (range 1000000)] (tool/ping {:n i}))".into()),
        ("a million calls at once", "(pmap (fn [i] (tool/ping {:n i})) (range 1000000))".into()),
        ("branches without end", "(defn f [n] (pmap f [n n])) (f 1)".into()),
        ("branches of branches", "(defn f [d] (if (zero? d) 1 (reduce + (pmap f [(dec d) (dec d)])))) (f 30)".into()),
        ("branches of branches that wait", "(defn f [d] (tool/ping {:d d}) (pmap f (range 100))) (f 1)".into()),
        ("deep branches that wait", "(defn f [n] (if (zero? n) (tool/ping {}) (do (f (dec n)) n))) (pmap f (repeat 1000 1900))".into()),
        ("wide branches that wait", format!("(defn f [n] (let [{}] (if (zero? n) (tool/ping {{}}) (do (f (dec n)) a0)))) (pmap f (repeat 1000 1900))", (0..200).map(|n| format!("a{n} n ")).collect::<String>())),
        ("functions of many names", format!("(defn f [n] (if true n (let [{}] n))) {}", (0..6000).map(|n| format!("a{n} n ")).collect::<String>(), forever("(f n)"))),
        ("deep functions of many names", format!("(defn f [n] (if (zero? n) 1 (do (f (dec n)) (if true n (let [{}] n))))) (f 1900)", (0..6000).map(|n| format!("a{n} n ")).collect::<String>())),
        ("a million branches", "(count (pmap inc (range 1000000)))".into()),
        ("branches that print", "(pmap (fn [n] (println n) (tool/ping {}) (println n)) (range 1000000))".into()),
        ("large arguments", "(loop [] (tool/ping {:v (vec (range 20000))}) (recur))".into()),
        ("upper case", on_text("(upper-case t)")),
        ("parts of a text", on_text("(subs t 399000 399001)")),
        ("place in a text", on_text("(index-of t \"zz\" 100)")),
        ("last place in a text", on_text("(last-index-of t \"zz\")")),
        ("repeated place in a text", format!("(def t (apply str (repeat 100000 \"a\"))) (def p (str (apply str (repeat 1000 \"a\")) \"b\")) {}", forever("(includes? t p)"))),
        ("split", on_text("(split t \" \")")),
        ("lines", on_text("(split-lines t)")),
        ("characters", on_text("(seq t)")),
        ("reversed", on_text("(reverse t)")),
        ("trimmed", on_text("(trim t)")),
        ("long numbers read", format!("(def t (apply str (repeat 100000 \"1\"))) {}", forever("(parse-double t)"))),
        ("long integers read", format!("(def t (apply str (repeat 100000 \"1\"))) {}", forever("(parse-long t)"))),
        ("format", on_text("(format \"%s %s\" t t)")),
        ("wide format", forever("(format \"%100000d\" n)")),
        ("sorting", on_data("(sort-by :b xs)")),
        ("sorting by a function", on_data("(sort (fn [a b] (compare (:a a) (:a b))) xs)")),
        ("sorting numbers", "(def xs (mapv (fn [i] (mod (* i 7919) 100003)) (range 100000))) (loop [] (sort xs) (recur))".into()),
        ("groups", on_data("(group-by :a xs)")),
        ("frequencies", on_data("(frequencies xs)")),
        ("distinct", on_data("(distinct xs)")),
        ("sets", on_data("(set xs)")),
        ("described", on_data("(describe xs)")),
        ("written", on_data("(pr-str xs)")),
        ("as JSON", on_data("(json/generate-string xs)")),
        ("read as JSON", format!("{data} (def j (json/generate-string xs)) {}", forever("(json/parse-string j)"))),
        ("deep JSON", format!("(def j \"{}{}\") {}", "[".repeat(100), "]".repeat(100), forever("(json/parse-string j)"))),
        ("combined", on_data("(merge (zipmap (range 5000) xs) {:a 1})")),
        ("joined", on_data("(into (vec (rest xs)) xs)")),
        ("nested updates", "(loop [m {} n 0] (recur (assoc-in m [(mod n 100) (mod n 7) :x] n) (inc n)))".into()),
        ("rest of a vector", "(loop [v (vec (range 10000))] (recur (if (seq v) (rest v) (vec (range 10000)))))".into()),
        ("walks", format!("{deep} {}", forever("(postwalk identity d)"))),
        ("compared", format!("{shared} (def y (conj (vec (butlast x)) (last x))) {}", forever("(= x y)"))),
        ("shared parts as keys", format!("{shared} {}", forever("(get {x 1} x)"))),
        ("flattened", format!("{shared} {}", forever("(flatten x)"))),
        ("prints", forever("(println n)")),
        ("long prints", on_text("(println t)")),
        ("partials", "(loop [f inc n 0] (recur (partial f) (inc n)))".into()),
        ("compositions", "(def f (apply comp (repeat 500 inc))) (loop [] (f 1) (recur))".into()),
        ("apply", "(def xs (range 100000)) (loop [] (apply + xs) (recur))".into()),
        ("spread partial", "(def f (apply partial + (range 10000))) (loop [] (f 1) (recur))".into()),
        ("tree", "(tree-seq identity (fn [x] [x x]) 1)".into()),
        ("product", "(doseq [a (range 1000) b (range 1000) c (range 1000)] (inc a))".into()),
        ("partitions", "(def xs (range 2000)) (loop [] (partition 1000 1 xs) (recur))".into()),
        ("combinations kept", "(def fs (mapv (fn [i] (fn [] i)) (range 20000))) (count fs)".into()),
        ("endless sequence kept", "(vec (take 1000000000 (iterate inc 1)))".into()),
        ("endless sequence of maps", "(take-while some? (map (fn [n] {:n n :m [n]}) (iterate inc 1)))".into()),
        ("shared transducers", "(into [] (loop [c (map inc) n 0] (if (< n 23) (recur (comp c c) (inc n)) c)) [])".into()),
        ("collections passed on", "(let [xs (vec (range 100000)) f (fn [_] xs)] (into [] (comp (apply comp (repeat 300 (mapcat f))) (take 1)) [1]))".into()),
        ("first of a cycle", "(let [c (cycle (range 100000))] (reduce (fn [a x] (+ a (first c))) 0 (range 10000)))".into()),
        ("nested finally", format!("{}2{}", "(try 1 (finally ".repeat(45), "))".repeat(45))),
        ("unknown names", format!("{}[{}]", (0..1700).map(|n| format!("(def value-{n} 1)")).collect::<String>(), (0..2500).map(|n| format!("unknown-{n} ")).collect::<String>())),
        ("transducer without end", "(into [] (map (fn [n] [n n])) (cycle [1 2]))".into()),
        ("distinct without end", "(into [] (distinct) (iterate inc 1))".into()),
        ("parts without end", "(into [] (mapcat (fn [n] (range 10000))) (iterate inc 1))".into()),
        ("one that is never found", "(some neg? (iterate inc 1))".into()),
        ("faults caught", forever("(try (/ 1 0) (catch Exception e e))")),
        ("faults that pass", forever("(try (try (/ 1 0) (finally 1)) (catch Exception e 1))")),
        ("faults with data", on_data("(try (throw (ex-info \"a\" xs)) (catch Exception e 1))")),
        ("functions that call each other", "(letfn [(f [n] (g n)) (g [n] (inc (f n)))] (f 1))".into()),
        ("many rounds", "(dotimes [i 100000000] i)".into()),
        ("replaced by groups", on_text("(replace t #\"(\\w)\" \"$1$1\")")),
        ("keys in two forms", "(loop [m {} n 0] (recur (assoc m (keyword (str \"k\" n)) n (str \"j-\" n) n) (inc n)))".into()),
        ("answers of data", forever("(tool/big {})")),
        ("answers of data kept", "(loop [all []] (recur (conj all (tool/big {}))))".into()),
        ("answers of text kept", "(loop [all []] (recur (conj all (tool/read_file {}))))".into()),
        ("surplus parentheses", format!("{} {})) nowhere", "(def a 1)".repeat(3000), "(let [b 1] (inc b))".repeat(1500))),
        ("unknown names", "zzzz1 ".repeat(9000)),
        ("wide condition", format!("(cond {})", "false 1 ".repeat(6000))),
        ("wide let", format!("(let [{}] 1)", (0..5000).map(|n| format!("a{n} {n} ")).collect::<String>())),
        ("nested functions", format!("{}1{}", "(fn [] ".repeat(90), ")".repeat(90))),
        ("nested functions with a body", format!("{}[{}]{}", "(fn [] ".repeat(90), "1 2 3 ".repeat(10_000), ")".repeat(90))),
        ("nested loops", format!("{}1{}", "(loop [a 1 b 2 c 3] (if a ".repeat(40), " (recur 1 2 3)))".repeat(40))),
        ("twins", format!("#{{{}}}", (0..500).map(|n| format!("[{n} 1 2 3 4 5 6 7 8 9 10 11 12 13] ")).collect::<String>())),
    ]
}

/// The most bytes that were resident, where the system says.
fn most_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

/// The milliseconds of processor time that this process has taken, where the system says: what others run
/// at the same time does not count.
fn processor_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    // A tick is a hundredth of a second on every Linux.
    Some(10 * (user + system))
}

/// Runs one and prints its line. Answers whether its memory stayed within twice the limit.
fn run(name: &str, source: &str) -> bool {
    let tools = ["ping", "big", "read_file"].map(Into::into).to_vec();
    let world = ProgramEnvironment { tools, ..ProgramEnvironment::default() };
    let rows = (0..20_000).map(|n| format!("{{\"id\":{n},\"tags\":[\"a\",\"b\"]}}"));
    let big: std::sync::Arc<str> = format!("[{}]", rows.collect::<Vec<_>>().join(",")).into();
    let begun = Instant::now();
    let (mut steps, ended) =
        (0, PtcLisp.prepare(source, &world).and_then(|prepared| prepared.start()));
    let ended = match ended {
        Err(fault) => fault.class,
        Ok(mut run) => {
            let mut answers = Vec::new();
            loop {
                match run.resume(answers) {
                    ProgramStep::Calls(calls) => {
                        let answer = |call: &ProgramCall| match &*call.name {
                            "ping" => ProgramAnswer::Done("1".into()),
                            _ => ProgramAnswer::Done(big.clone()),
                        };
                        answers = calls.iter().map(answer).collect();
                    }
                    ProgramStep::Done(done) => {
                        steps = done.steps;
                        break match done.end {
                            ProgramEnd::Fault(fault) => fault.class,
                            ProgramEnd::Value { .. } => "value".to_owned(),
                            ProgramEnd::Return { .. } => "return".to_owned(),
                            ProgramEnd::Fail { .. } => "fail".to_owned(),
                        };
                    }
                }
            }
        }
    };
    let took = begun.elapsed().as_millis();
    let processor = processor_ms().map_or_else(|| "?".to_owned(), |ms| ms.to_string());
    let most = most_resident();
    let resident = most.map_or_else(|| "?".to_owned(), |mib| mib.to_string());
    println!(
        "{name:<30} {processor:>5} ms of processor {took:>6} ms {steps:>9} steps {resident:>4} MiB  {ended}"
    );
    let limit = world.limits.memory_bytes >> 20;
    most.is_none_or(|most| most <= 2 * limit)
}

fn main() -> ExitCode {
    let programs = programs();
    if let Some(name) = std::env::args().nth(1) {
        return match programs.iter().find(|(known, _)| *known == name) {
            Some((name, source)) => {
                if run(name, source) {
                    return ExitCode::SUCCESS;
                }
                eprintln!("{name}: more than twice its limit of memory was resident");
                ExitCode::FAILURE
            }
            None => {
                eprintln!("there is no program {name:?}");
                ExitCode::FAILURE
            }
        };
    }
    let Ok(own) = std::env::current_exe() else {
        eprintln!("the path of this program is not known");
        return ExitCode::FAILURE;
    };
    let mut all = ExitCode::SUCCESS;
    for (name, _) in &programs {
        match Command::new(&own).arg(name).status() {
            Ok(status) if status.success() => {}
            other => {
                eprintln!("{name}: {other:?}");
                all = ExitCode::FAILURE;
            }
        }
    }
    all
}
