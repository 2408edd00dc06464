//! Programs with slips: whatever is cut out, doubled or exchanged in a program, it ends within its limits,
//! and it ends the same way twice.

#![allow(clippy::expect_used, reason = "a run that cannot go on is the test's failure")]

mod support;

use support::{inputs, same};
use windlass_kit_ptclisp::{Limits, LispSession, Program, RunEnd, RunStep, readable};

const SEEDS: &[&str] = &[
    "(let [[a & more] [1 2 3] {:keys [b] :or {b 5} :as m} {:c 1}] [a more b m])",
    "(defn f ([x] (f x 10)) ([x y] (+ x y))) [(f 1) (f 1 2) (map f [1 2])]",
    "(loop [i 0 [x y] [1 2] acc []] (if (< i 3) (recur (inc i) [y x] (conj acc i x)) acc))",
    "(for [x [1 2 3] :when (odd? x) :let [y (* 10 x)] z #{:a :b} :while y] [y z])",
    "(doseq [[k v] {:a 1 :b 2}] (println k v) (def last-key k))",
    "(-> {:a {:b 1}} (update-in [:a :b] inc) (assoc :c 2) (cond-> true (dissoc :a) false inc))",
    "(->> (range 10) (map #(* % %)) (filter odd?) (group-by #(mod % 3)) (some->> vals first))",
    "(case (tool/same {:n 3}) (1 2) :few 3 :three (condp = 1 2 :a :b))",
    "(reduce (fn [m {:keys [k v]}] (update m k (fnil conj []) v)) {} [{:k :a :v 1} {:k :a :v 2}])",
    "(sort-by :n > (pmap (fn [n] {:n (tool/same {:n n})}) [3 1 2]))",
    "(pcalls (fn [] (println 1) (tool/same {:n 1})) #(pmap tool/same [{:n 2} {:n 3}]) #(return 4))",
    "(if-let [x (some #{2} [1 2])] (when-some [y (get {2 :b} x)] [x y *1]) (fail :none))",
    "(postwalk #(if (number? %) (inc %) %) {:a [1 {:b #{2 3}}] \"c\" (tree-seq vector? seq [1 [2]])})",
    "((comp #(apply str %) (partial map name) (juxt :a :b)) {:a :x :b \"y\"})",
    "(str (re-seq #\"(\\w)(\\d)\" \"a1 b2\") (format \"%5.1f %s\" 1.5 nil) (subs \"hello\" 1 3))",
    "(def x 1) (defonce x 2) (defn g [& {:keys [a]}] (fn h [n] (if (pos? n) (h (dec n)) a))) ((g :a x) 3)",
    "(split-with even? (concat [2 4] (take-while pos? [5 -1]) (sort (fn [a b] (> a b)) [1 2])))",
    "(try (map #(/ 1 %) (take 3 (iterate dec 2))) (catch :arithmetic_error e (throw (ex-info (:message e) {:n 1}))) (finally (def z 1)))",
    "(letfn [(f [n] (if (pos? n) (g (dec n)) n)) (g [n] (f n))] (into [] (comp (map f) (filter zero?) (take 2)) (cycle [3 0])))",
    "(bit-shift-left (quot 7 2) (count (distinct (interleave [1 2] (partition 2 1 [1 2 3])))))",
];

/// The words, brackets and texts of a program.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_text = false;
    for c in source.chars() {
        let alone = !in_text && (c.is_whitespace() || "()[]{}#'".contains(c));
        match tokens.last_mut() {
            Some(last)
                if !alone && !last.ends_with([' ', '(', ')', '[', ']', '{', '}', '#', '\'']) =>
            {
                last.push(c);
            }
            _ => tokens.push(c.to_string()),
        }
        in_text ^= c == '"';
    }
    tokens
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

fn mutant(numbers: &mut Numbers, seeds: &[Vec<String>]) -> String {
    let mut tokens = seeds[numbers.next(seeds.len())].clone();
    for _ in 0..=numbers.next(4) {
        let at = numbers.next(tokens.len());
        match numbers.next(4) {
            0 => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, tokens[at].clone()),
            2 => {
                let other = numbers.next(tokens.len());
                tokens.swap(at, other);
            }
            _ => {
                let donor = &seeds[numbers.next(seeds.len())];
                tokens[at].clone_from(&donor[numbers.next(donor.len())]);
            }
        }
        if tokens.is_empty() {
            break;
        }
    }
    tokens.concat()
}

/// How a program ends, as text.
fn ends(source: &str, limits: &Limits) -> String {
    let session = LispSession::default();
    let program = match Program::prepare(source, &inputs(&["same"]), &session, limits) {
        Ok(program) => program,
        Err(fault) => return fault.to_string(),
    };
    let mut run = program.start(&session);
    let mut step = run.begin().expect("goes");
    loop {
        match step {
            RunStep::Calls(calls) => {
                step = run.resume(calls.iter().map(same).collect()).expect("resumes")
            }
            RunStep::Done(outcome) => {
                return match &outcome.end {
                    RunEnd::Value(value) | RunEnd::Return(value) | RunEnd::Fail(value) => {
                        format!("{} {}", readable(value), outcome.steps)
                    }
                    RunEnd::Fault(fault) => format!("{fault} {}", outcome.steps),
                };
            }
        }
    }
}

#[test]
fn no_slip_breaks_the_machine() {
    let limits = Limits { steps: 100_000, memory_bytes: 4 << 20, ..Limits::default() };
    let seeds: Vec<Vec<String>> = SEEDS.iter().map(|seed| tokens(seed)).collect();
    for (seed, tokens) in SEEDS.iter().zip(&seeds) {
        assert_eq!(tokens.concat(), **seed);
    }
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut ran = 0;
    for _ in 0..6000 {
        let source = mutant(&mut numbers, &seeds);
        let first = ends(&source, &limits);
        assert_eq!(first, ends(&source, &limits), "{source}");
        ran += u32::from(!first.contains("parse_error"));
    }
    assert!(ran > 2000, "only {ran} mutants were read");
}
