//! Names that were probably meant: near ones, and what other languages call the same.

use crate::library;

/// Replacements for names of Clojure and other languages that this language lacks, sorted by name.
const ELSEWHERE: &[(&str, &str)] = &[
    (".contains", "Write (includes? text part)."),
    (".endsWith", "Write (ends-with? text part)."),
    (".indexOf", "Write (index-of text part)."),
    (".isEmpty", "Write (empty? coll)."),
    (".lastIndexOf", "Write (last-index-of text part)."),
    (".length", "Write (count text)."),
    (".replace", "Write (replace text old new)."),
    (".size", "Write (count coll)."),
    (".split", "Write (split text #\"re\")."),
    (".startsWith", "Write (starts-with? text part)."),
    (".substring", "Write (subs text start end)."),
    (".toLowerCase", "Write (lower-case text)."),
    (".toString", "Write (str x)."),
    (".toUpperCase", "Write (upper-case text)."),
    (".trim", "Write (trim text)."),
    ("Boolean/parseBoolean", "Write (parse-boolean text)."),
    ("Double/NEGATIVE_INFINITY", "Write ##-Inf."),
    ("Double/NaN", "Write ##NaN."),
    ("Double/POSITIVE_INFINITY", "Write ##Inf."),
    ("Double/parseDouble", "Write (parse-double text)."),
    ("Float/parseFloat", "Write (parse-double text)."),
    ("Integer/parseInt", "Write (parse-long text)."),
    ("Long/parseLong", "Write (parse-long text)."),
    ("Math/abs", "Write (abs x)."),
    ("Math/ceil", "Write (ceil x)."),
    ("Math/floor", "Write (floor x)."),
    ("Math/max", "Write (max x y)."),
    ("Math/min", "Write (min x y)."),
    ("Math/pow", "Write (pow x y)."),
    ("Math/random", CHANCE),
    ("Math/round", "Write (round x)."),
    ("Math/sqrt", "Write (sqrt x)."),
    ("String/format", "Write (format pattern x)."),
    ("String/valueOf", "Write (str x)."),
    ("System/currentTimeMillis", CLOCK),
    ("System/nanoTime", CLOCK),
    ("Thread/sleep", CLOCK),
    ("append", "Write (conj coll x), or (concat a b) for two collections."),
    ("atom", STATE),
    ("begin", "Write (do a b)."),
    ("car", "Write (first coll)."),
    ("cdr", "Write (rest coll)."),
    ("clojure.string/reverse", REVERSE),
    ("concat-string", "Write (str a b)."),
    ("contains-key?", "Write (contains? m key)."),
    ("defmacro", "There are no macros: write a function with defn."),
    ("deref", STATE),
    ("each", "Write (doseq [x coll] body), or (for [x coll] value)."),
    ("foreach", "Write (doseq [x coll] body), or (for [x coll] value)."),
    ("has-key?", "Write (contains? m key)."),
    ("json/decode", "Write (json/parse-string text)."),
    ("json/encode", "Write (json/generate-string value)."),
    ("json/parse", "Write (json/parse-string text)."),
    ("json/read-str", "Write (json/parse-string text)."),
    ("json/stringify", "Write (json/generate-string value)."),
    ("json/write-str", "Write (json/generate-string value)."),
    ("lambda", "Write (fn [x] body)."),
    (
        "lazy-seq",
        "Sequences are made at once, except (iterate f x), (cycle coll), (repeat x) and (repeatedly f).",
    ),
    ("len", "Write (count coll)."),
    ("length", "Write (count coll)."),
    ("let*", "Write (let [name value] body)."),
    ("map-invert", "Write (into {} (map (fn [[k v]] [v k]) m))."),
    ("null?", "Write (nil? x)."),
    ("print", "Write (println x)."),
    ("printf", "Write (println (format pattern x))."),
    ("progn", "Write (do a b)."),
    ("rand", CHANCE),
    ("rand-int", CHANCE),
    ("rand-nth", CHANCE),
    ("rename-keys", "Write (-> m (assoc :new (:old m)) (dissoc :old))."),
    ("reset!", STATE),
    ("set!", STATE),
    ("setq", STATE),
    ("shuffle", CHANCE),
    ("size", "Write (count coll)."),
    ("slurp", "There are no files: call a tool."),
    ("sorted-map", "Write {}: the keys of all maps are in order."),
    ("sorted-map-by", "Write (sort-by key (entries m)) where an order is needed."),
    ("sorted-set", "Write #{}: the members of all sets are in order."),
    ("spit", "There are no files: call a tool."),
    ("str/replace-first", "Write (replace text re new) with an expression that matches once."),
    ("str/reverse", REVERSE),
    ("string-append", "Write (str a b)."),
    ("string/reverse", REVERSE),
    ("substring", "Write (subs text start end)."),
    ("swap!", STATE),
    ("volatile!", STATE),
    ("vswap!", STATE),
    ("while", "Write (loop [x start] (if test (recur next) x))."),
];

const STATE: &str = "Nothing is changed in place: carry the value through loop and recur or reduce, or define the name again with def.";
const CLOCK: &str = "There is no clock: call a tool, or take the time as an input.";
const CHANCE: &str = "There is no randomness: choose by a rule.";
const REVERSE: &str = "Write (apply str (reverse text)).";

/// Returns the replacement of a name that is known from another language.
pub(super) fn instead(name: &str) -> Option<&'static str> {
    let found = ELSEWHERE.binary_search_by(|(known, _)| (*known).cmp(name));
    found.ok().map(|index| ELSEWHERE[index].1)
}

/// The name of the language, or of these, that is nearest to an unknown one, if any is near.
pub(super) fn nearest<'a>(name: &str, defined: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let natives = library::names().map(|name| -> &'a str { name });
    nearest_of(name, defined.chain(natives))
}

/// The one that is nearest to a name, if any is near.
pub(crate) fn nearest_of<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > 40 {
        return None;
    }
    let furthest = match name.len() {
        0..=2 => return None,
        3..=4 => 1,
        _ => 2,
    };
    let near = known
        .filter(|known| known.len().abs_diff(name.len()) <= LONGEST_LETTER * furthest)
        .map(|known| (distance(name, known), known));
    let best = near.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= furthest).then_some(best.1)
}

/// Bytes of the longest letter.
const LONGEST_LETTER: usize = 4;

/// The letters to change to make one word another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("fliter", std::iter::empty()), Some("filter"));
        assert_eq!(nearest("my-totl", ["my-total"].into_iter()), Some("my-total"));
        assert_eq!(nearest("qqqqqqqqqq", std::iter::empty()), None);
    }

    #[test]
    fn names_from_elsewhere_are_in_order_and_not_known_here() {
        assert!(ELSEWHERE.is_sorted_by(|a, b| a.0 < b.0));
        let known = ELSEWHERE.iter().filter(|(name, _)| library::find(name).is_some());
        assert_eq!(known.count(), 0);
    }
}
