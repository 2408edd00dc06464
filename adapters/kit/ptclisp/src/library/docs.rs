//! Texts of functions and forms, as `doc` prints them: the calls and a sentence. A test compares the names with those
//! of the library.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A line for each name: its calls, and a sentence. Names of the same meaning share a line.
const TEXTS: &str = r#"
(+ x ...) :: Gives the sum; 0 of nothing
(- x) | (- x y ...) :: Negates, or subtracts the others from the first
(* x ...) :: Gives the product; 1 of nothing
(/ x y ...) :: Divides; the result is a float
(+' x ...) :: Gives the sum, as + does
(-' x y ...) :: Subtracts, as - does
(*' x ...) :: Gives the product, as * does
(< x y ...) :: True if each number is less than the next
(<= x y ...) :: True if no number is greater than the next
(> x y ...) :: True if each number is greater than the next
(>= x y ...) :: True if no number is less than the next
(= x y ...) :: True if all are equal; 1 and 1.0 are
(== x y ...) :: True if all numbers are equal
(not= x y ...) :: True if not all are equal
(not x) :: True for nil and false
(compare x y) :: Gives a negative number, 0 or a positive one for less, equal and greater
(abs x) :: Gives the number without its sign
(inc x) :: Adds 1
(dec x) :: Subtracts 1
(inc' x) :: Adds 1
(dec' x) :: Subtracts 1
(max x y ...) :: Gives the largest number
(min x y ...) :: Gives the smallest number
(mod x y) :: Gives the rest of a division, with the sign of y
(rem x y) :: Gives the rest of a division, with the sign of x
(quot x y) :: Divides and drops the fraction
(pow x y) :: Raises x to the power y
(sqrt x) :: Gives the square root
(round x) :: Rounds to the nearest integer
(floor x) :: Rounds down
(ceil x) :: Rounds up
(trunc x) :: Drops the fraction
(int x) :: Converts to an integer of 32 bits; of a text of one character its number
(long x) :: Converts to an integer
(float x) :: Converts to a float
(double x) :: Converts to a float
(bit-and x y ...) :: Combines the bits of integers by and
(bit-or x y ...) :: Combines the bits of integers by or
(bit-xor x y) :: Combines the bits of integers by exclusive or
(bit-and-not x y ...) :: Combines the bits of integers by and not
(bit-not x) :: Inverts all bits
(bit-set x n) :: Sets bit n
(bit-clear x n) :: Clears bit n
(bit-flip x n) :: Inverts bit n
(bit-test x n) :: True if bit n is set
(bit-shift-left x n) :: Shifts the bits to the left
(bit-shift-right x n) :: Shifts the bits to the right
(nil? x) :: True for nil
(some? x) :: True unless x is nil
(true? x) :: True for true
(false? x) :: True for false
(boolean x) :: Gives false for nil and false, else true
(boolean? x) :: True for true and false
(number? x) :: True for a number
(int? x) :: True for an integer
(integer? x) :: True for an integer
(float? x) :: True for a float
(double? x) :: True for a float
(ratio? x) :: True for a ratio: there are none
(rational? x) :: True for an integer
(decimal? x) :: True for a decimal: there are none
(NaN? x) :: True for the float that is not a number
(infinite? x) :: True for the infinities
(zero? x) :: True for 0
(pos? x) :: True for a positive number
(neg? x) :: True for a negative number
(pos-int? x) :: True for a positive integer
(neg-int? x) :: True for a negative integer
(nat-int? x) :: True for an integer that is not negative
(even? x) :: True for an even number
(odd? x) :: True for an odd number
(string? x) :: True for a text
(char? x) :: True for a text of one character
(keyword? x) :: True for a keyword
(symbol? x) :: True for a quoted symbol
(regex? x) :: True for a regular expression
(var? x) :: True for what def gives
(fn? x) :: True for a function
(ifn? x) :: True for what can be called: functions, keywords, maps and sets
(map? x) :: True for a map
(map-entry? x) :: True for an entry of a map
(vector? x) :: True for a vector
(seq? x) :: True for a sequence
(set? x) :: True for a set
(coll? x) :: True for a vector, a map or a set
(sequential? x) :: True for a vector
(seqable? x) :: True for what has items: also a text and nil
(associative? x) :: True for a map or a vector
(counted? x) :: True for a collection that knows its size
(indexed? x) :: True for a vector
(reversible? x) :: True for a vector
(sorted? x) :: True for a collection that is sorted
(type x) :: Gives the kind of x as a keyword
(identity x) :: Gives x
(count coll) :: Gives the number of items; of a text its characters
(empty? coll) :: True if there are no items
(not-empty coll) :: Gives the collection, or nil if it is empty
(empty coll) :: Gives an empty collection of the same kind
(first coll) :: Gives the first item, or nil
(second coll) :: Gives the second item, or nil
(last coll) :: Gives the last item, or nil
(rest coll) :: Gives the items after the first
(next coll) :: Gives the items after the first, or nil if there are none
(nnext coll) :: Gives the items after the second, or nil if there are none
(ffirst coll) :: Gives the first item of the first item
(fnext coll) :: Gives the second item
(nfirst coll) :: Gives the first item without its first, or nil
(butlast coll) :: Gives all items but the last, or nil
(nth coll index) | (nth coll index default) :: Gives the item at an index from 0
(nthrest coll n) :: Gives the items after the first n
(nthnext coll n) :: Gives the items after the first n, or nil if there are none
(peek v) :: Gives the last item of a vector
(pop v) :: Gives a vector without its last item
(conj coll x ...) :: Adds items to a vector or a set, or [key value] to a map
(cons x coll) :: Puts an item before the others
(concat coll ...) :: Gives the items of all collections
(into to from) | (into to xform from) :: Adds the items of one collection to another, through a transducer if one is given
(vec coll) :: Gives the items as a vector
(vector x ...) :: Makes a vector
(list x ...) :: Makes a vector: there are no other lists
(seq coll) :: Gives the items in order, or nil if there are none
(reverse coll) :: Gives the items in reverse order
(subvec v start) | (subvec v start end) :: Gives a part of a vector
(map f coll) | (map f c1 c2 ...) :: Apply f to each element in coll
(mapv f coll) | (mapv f c1 c2 ...) :: Calls f with each item, or with one item of each collection
(map-indexed f coll) :: Calls f with the index and each item
(mapcat f coll) :: Calls f with each item, and joins the collections that it gives
(filter p coll) :: Keeps the items of which p is true
(filterv p coll) :: Keeps the items of which p is true
(remove p coll) :: Drops the items of which p is true
(keep f coll) :: Calls f with each item, and keeps the results that are not nil
(keep-indexed f coll) :: Calls f with the index and each item, and keeps the results that are not nil
(run! f coll) :: Calls f with each item, for what it does; gives nil
(doall coll) :: Gives the collection: it is made already
(dorun coll) :: Gives nil: the collection is made already
(reduce f coll) | (reduce f init coll) :: Carries a value through f with each item; (reduced x) ends it
(reduced x) :: Ends the reduce whose function it is in, with x
(reduce-kv f init m) :: Carries a value through f with each key and value
(reductions f coll) | (reductions f init coll) :: Gives all values that reduce goes through
(transduce xform f coll) | (transduce xform f init coll) :: Reduces the items that come through a transducer
(sequence coll) | (sequence xform coll) :: Gives the items, through a transducer if one is given
(eduction xform coll) :: Gives the items that come through a transducer
cat :: Is the transducer that joins collections: (into [] cat colls)
(iterate f x) :: Gives x, (f x), (f (f x)) and so on without end: take what is wanted. Each use makes the items again, with the calls in them
(cycle coll) :: Repeats the items without end: take what is wanted
(repeat x) | (repeat n x) :: Gives x n times, or without end
(repeatedly f) | (repeatedly n f) :: Gives what f gives, n times or without end. Each use of one without end makes the items again, with the calls in them
(range end) | (range start end) | (range start end step) :: Gives the numbers from start, which is 0 by default, to before end
(some p coll) :: Gives the first true result of p, or nil
(every? p coll) :: True if p is true of all items
(not-any? p coll) :: True if p is true of no item
(not-every? p coll) :: True if p is false of an item
(take n coll) :: Gives the first n items
(take-while p coll) :: Gives the items before the first of which p is false
(take-last n coll) :: Gives the last n items
(take-nth n coll) :: Gives every nth item
(drop n coll) :: Gives the items after the first n
(drop-while p coll) :: Gives the items from the first on of which p is false
(drop-last coll) | (drop-last n coll) :: Gives all but the last n items
(split-at n coll) :: Gives the first n items, and the others
(split-with p coll) :: Gives what take-while and drop-while give
(partition n coll) | (partition n step coll) | (partition n step pad coll) :: Gives groups of n items; drops a last one that is not full
(partition-all n coll) | (partition-all n step coll) :: Gives groups of n items; the last one may be smaller
(partition-by f coll) :: Begins a new group where the result of f changes
(interleave c1 c2 ...) :: Takes one item of each collection in turn
(interpose x coll) :: Puts x between the items
(zip c1 c2) :: Gives pairs of the items of two vectors
(zipmap keys vals) :: Makes a map of keys and values
(combinations coll n) :: Gives all choices of n items
(flatten coll) :: Gives the items of nested vectors as one vector
(distinct coll) :: Keeps the first of equal items
(distinct-by key coll) :: Keeps the first of the items with equal keys
(distinct? x ...) :: True if no two are equal
(dedupe coll) :: Keeps the first of equal items that stand side by side
(sort coll) | (sort compare coll) :: Sorts; compare may be :desc, >, or a function of two
(sort-by key coll) | (sort-by key compare coll) :: Sorts by what key gives of each item; compare may be :desc or >
(group-by f coll) :: Gives a map from each result of f to its items
(frequencies coll) :: Gives a map from each item to how often it is there
(max-by key coll) :: Gives the item with the largest key
(min-by key coll) :: Gives the item with the smallest key
(max-key f x y ...) :: Gives the argument of which f gives the largest number
(min-key f x y ...) :: Gives the argument of which f gives the smallest number
(sum coll) :: Adds up numbers
(sum-by key coll) :: Adds up the numbers that key gives of each item
(avg coll) :: Gives the average of numbers, or nil
(avg-by key coll) :: Gives the average of the numbers that key gives of each item
(describe data) | (describe data {:sample n}) :: Gives counts, kinds and examples of the fields of data
(tree-seq branch? children root) :: Gives the nodes of a tree, parents first
(walk inner outer form) :: Calls inner with each part, and outer with the whole of the results
(prewalk f form) :: Calls f with each part of nested data, the whole first
(postwalk f form) :: Calls f with each part of nested data, the whole last
(get m key) | (get m key default) :: Gives the entry of a map, or the item of a vector; "a" and :a are one key
(get-in m path) | (get-in m path default) :: Gives the entry at the end of a path of keys
(assoc m key val ...) :: Sets entries of a map, or items of a vector
(assoc-in m path val) :: Sets the entry at the end of a path, with maps on the way
(update m key f arg ...) :: Sets an entry to what f gives of it and of the arguments
(update-in m path f arg ...) :: Sets the entry at the end of a path to what f gives of it
(update-vals m f) :: Calls f with each value
(update-keys m f) :: Calls f with each key
(dissoc m key ...) :: Removes entries
(merge m ...) :: Puts the entries of later maps over those of earlier ones
(merge-with f m ...) :: Merges maps; f makes one value of two under one key
(select-keys m keys) :: Keeps the entries of these keys
(keys m) :: Gives the keys
(vals m) :: Gives the values
(entries m) :: Gives the entries as [key value]
(key entry) :: Gives the key of an entry
(val entry) :: Gives the value of an entry
(find m key) :: Gives the entry as [key value], or nil
(contains? coll key) :: True if a map has the key, a set the member, or a vector the item
(hash-map key val ...) :: Makes a map
(array-map key val ...) :: Makes a map
(set coll) :: Makes a set of the items
(hash-set x ...) :: Makes a set
(disj s x ...) :: Removes members of a set
(union s ...) :: Gives the members of all sets
(intersection s ...) :: Gives the members that all sets have
(difference s1 s2 ...) :: Gives the members that only the first set has
(str ...) :: Convert and concatenate to string
(pr-str x ...) :: Gives the readable form, with texts in quotation marks
(format pattern x ...) :: Fills %s, %d, %.2f and the like
(subs s start) | (subs s start end) :: Gives a part of a text
(join coll) | (join separator coll) :: Joins items as text
(split s separator) :: Splits a text at a regular expression, or at a character
(split-lines s) :: Splits a text into lines
(replace s match new) | (replace changes coll) :: Replaces all matches; $1 in new is a group of a regular expression
(trim s) :: Removes blanks at both ends
(triml s) :: Removes blanks at the start
(trimr s) :: Removes blanks at the end
(trim-newline s) :: Removes line ends at the end
(upper-case s) :: Gives the text in capital letters
(lower-case s) :: Gives the text in small letters
(upcase s) :: Gives the text in capital letters
(downcase s) :: Gives the text in small letters
(capitalize s) :: Gives the text with a capital first letter
(blank? s) :: True for nil and for a text of blanks
(includes? s part) :: True if the text has the part in it
(starts-with? s part) :: True if the text begins with the part
(ends-with? s part) :: True if the text ends with the part
(index-of s part) | (index-of s part from) :: Gives the index of the part, or nil
(last-index-of s part) | (last-index-of s part from) :: Gives the last index of the part, or nil
(name x) :: Gives the name of a keyword as a text
(keyword s) :: Gives the keyword of this name
(parse-long s) :: Reads an integer, or gives nil
(parse-int s) :: Reads an integer, or gives nil
(parse-double s) :: Reads a number, or gives nil
(parse-boolean s) :: Reads true or false, or gives nil
(re-find re s) :: Gives the first match, with its groups in a vector if there are any
(re-matches re s) :: Gives the match of the whole text, or nil
(re-seq re s) :: Gives all matches
(re-split re s) :: Splits a text at matches
(re-pattern s) :: Makes a regular expression of a text
(extract re s) | (extract re s group) :: Gives a group of the first match, the first by default
(extract-int re s) | (extract-int re s group) | (extract-int re s group default) :: Gives a group of the first match as an integer
(json/parse-string s) :: Reads JSON, or gives nil
(json/parse-lines s) :: Reads a JSON value a line
(json/generate-string x) :: Writes JSON
(apply f arg ... coll) :: Calls f with the arguments and the items
(partial f arg ...) :: Gives f with its first arguments set
(comp f ...) :: Gives the function that calls the last first; of transducers, the transducer of all
(juxt f ...) :: Gives the function of the results of each
(complement p) :: Gives the function that is true where p is false
(constantly x) :: Gives the function that always gives x
(fnil f default) :: Gives f with a default for nil
(every-pred p ...) :: Gives the function that is true where all are
(some-fn f ...) :: Gives the function of the first true result
(pmap f coll) | (pmap f c1 c2 ...) :: As map, with the tools that it calls at the same time
(pcalls f ...) :: Calls functions without arguments, with the tools that they call at the same time
(println x ...) :: Prints a line that you are shown
(prn x ...) :: Prints a line in readable form
(return value) :: Ends the task with its result
(fail reason) :: Ends the task without a result
(throw x) :: Throws a text, a map or (ex-info message data) to the nearest catch
(ex-info message data) :: Makes what throw takes: {:type :thrown :message message :data data}
(ex-message e) :: Gives the message of what was caught
(ex-data e) :: Gives the data of what was thrown with ex-info
(doc name) :: Prints how a function or a form is called
(apropos text) :: Gives the names with the text in them, then those with it in their meaning
(dir) :: Gives nothing: names are found with apropos
(source name) :: Prints that functions of the language have no source
(export-meta name) :: Gives nil
(def name value) :: Defines a name for this program and those after it
(defonce name value) :: Defines a name unless it is defined
(defn name [args] body ...) :: Defines a function for this program and those after it
(defn- name [args] body ...) :: As defn
(fn [args] body ...) | (fn name [args] body ...) :: Makes a function
(let [name value ...] body ...) :: Names values within its body
(letfn [(name [args] body ...) ...] body ...) :: Names functions that may call each other
(if test then else) :: Gives then if the test is neither nil nor false
(if-not test then else) :: Gives then if the test is nil or false
(if-let [name value] then else) :: Names the value if it is neither nil nor false
(if-some [name value] then else) :: Names the value unless it is nil
(when test body ...) :: Gives the body if the test is neither nil nor false
(when-not test body ...) :: Gives the body if the test is nil or false
(when-let [name value] body ...) :: Names the value if it is neither nil nor false
(when-some [name value] body ...) :: Names the value unless it is nil
(when-first [name coll] body ...) :: Names the first item if there is one
(cond test value ... :else value) :: Gives the value after the first true test
(condp f x test value ... default) :: Gives the value of the first test of which (f test x) is true
(case x value result ... default) :: Gives the result after the equal value
(and x ...) :: Gives the first that is nil or false, else the last
(or x ...) :: Gives the first that is neither nil nor false, else the last
(do body ...) :: Gives the last value
(loop [name value ...] body ...) :: Goes back to its start with recur
(recur value ...) :: Goes back to the start of the loop or function
(for [x coll :when test :let [y v] :while test] body) :: Gives the values of the body
(doseq [x coll :when test] body ...) :: Runs the body for each item; gives nil
(dotimes [i n] body ...) :: Runs the body n times; gives nil
(try body ... (catch Exception e body ...) (finally body ...)) :: Catches faults: e is {:type .. :message ..}. Limits are not caught
(-> x step ...) :: Puts the value as the first argument into each step
(->> x step ...) :: Puts the value as the last argument into each step
(as-> x name step ...) :: Names the value for each step
(some-> x step ...) :: As ->, and ends at nil
(some->> x step ...) :: As ->>, and ends at nil
(cond-> x test step ...) :: As ->, for the steps whose test is true
(cond->> x test step ...) :: As ->>, for the steps whose test is true
(comment ...) :: Gives nil; nothing in it runs
(quote form) :: Gives the form as data
(var name) :: Gives what the name stands for, as #'name does
"#;

/// Returns the text of a name: its calls, one a line, and a sentence below them.
pub(super) fn text(name: &str) -> Option<String> {
    let (calls, sentence) = by_name().get(name)?;
    Some(format!("{}\n  {sentence}", calls.replace(" | ", "\n")))
}

/// Returns the names with this text in the sentence about them, in order. Letters count in either case.
pub(super) fn meaning(text: &str) -> impl Iterator<Item = &'static str> {
    let text = text.to_lowercase();
    let found =
        by_name().iter().filter(move |(_, (_, sentence))| sentence.to_lowercase().contains(&text));
    found.map(|(name, _)| *name)
}

/// Bytes of all texts.
pub(super) const BYTES: u64 = TEXTS.len() as u64;

/// The calls of a name and its sentence.
fn by_name() -> &'static BTreeMap<&'static str, (&'static str, &'static str)> {
    static BY_NAME: OnceLock<BTreeMap<&str, (&str, &str)>> = OnceLock::new();
    BY_NAME.get_or_init(|| {
        let lines = TEXTS.lines().filter_map(|line| line.split_once(" :: "));
        lines.map(|(calls, sentence)| (name_of(calls), (calls, sentence))).collect()
    })
}

/// The name that a call begins with.
fn name_of(calls: &'static str) -> &'static str {
    let call = calls.trim_start_matches('(');
    call.split([' ', ')']).next().unwrap_or(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{find, names};

    #[test]
    fn all_functions_have_a_text() {
        let missing: Vec<&str> = names().filter(|name| text(name).is_none()).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn all_texts_are_of_functions_or_forms() {
        let lines = TEXTS.lines().filter(|line| !line.is_empty()).count();
        assert_eq!(by_name().len(), lines, "a name has two lines");
        let documented: Vec<&str> =
            by_name().keys().copied().filter(|name| find(name).is_none()).collect();
        assert_eq!(documented, special_forms());
    }

    /// The names that the analyzer takes for forms, in order, except functions and parts of forms.
    fn special_forms() -> Vec<&'static str> {
        let source = include_str!("../analyze/expr.rs");
        let arms = source
            .split_once("Some(match name {")
            .and_then(|(_, arms)| arms.split_once("_ => return None"));
        let patterns =
            arms.unwrap_or_default().0.lines().filter_map(|line| line.split_once(" => "));
        let names = patterns.flat_map(|(pattern, _)| pattern.split('"').skip(1).step_by(2));
        let is_form =
            |name: &&str| find(name).is_none() && !["catch", "finally", "."].contains(name);
        let mut names: Vec<&str> = names.filter(is_form).collect();
        names.sort_unstable();
        names
    }
}
