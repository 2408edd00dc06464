//! The notation, the checks and the schema by example, and what holds for any text and value.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    Field, MISMATCHES, NamedType, SIGNATURE_BYTES, SIGNATURE_DEPTH, SchemaError, Signature,
    SignatureError, SignatureErrorKind, Type,
};

fn parsed(text: &str) -> Signature {
    Signature::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn bad(text: &str) -> SignatureError {
    match Signature::parse(text) {
        Err(error) => error,
        Ok(signature) => panic!("{text:?}: {signature}"),
    }
}

/// What is wrong with a value, a line each.
fn wrong(signature: &str, value: &Json) -> String {
    match parsed(signature).output().check(value) {
        Ok(()) => String::new(),
        Err(wrong) => wrong.to_string(),
    }
}

#[test]
fn a_signature_is_shown_in_one_way() {
    for (text, shown) in [
        ("{a:int}", "() -> {a :int}"),
        ("\n( )\t->[ :boolean? ]\r\n", "() -> [:bool?]"),
        ("(a-b_1 :map,_c [{}])->:any", "(a-b_1 :map, _c [{}]) -> :any"),
        ("{ a {b [:keyword]} , c :datetime? }", "() -> {a {b [:keyword]}, c :datetime?}"),
    ] {
        assert_eq!(parsed(text).to_string(), shown);
    }
    assert_eq!(parsed(":int").rendered(), "-> :int");
    assert_eq!(parsed("(x :int) -> :int").rendered(), "(x :int) -> :int");
}

#[test]
fn what_is_no_signature_is_refused_with_its_place() {
    for (text, line, column, message) in [
        ("", 1, 1, "expected '(' or a type, found the end"),
        ("-> :int", 1, 1, "expected '(' or a type, found '-'"),
        ("() ->", 1, 6, "expected a type, found the end"),
        ("() :int", 1, 4, "expected '->', found ':'"),
        ("(x)\n-> :int", 1, 3, "expected a type, found ')'"),
        ("(x :int y :int) -> :int", 1, 9, "expected ',' or ')', found 'y'"),
        ("{\n a :int,\n}", 3, 1, "expected a name, found '}'"),
        ("{1a :int}", 1, 2, "expected a name, found '1'"),
        ("[:int :int]", 1, 7, "expected ']', found ':'"),
        ("[:int]?", 1, 7, "expected the end, found '?'"),
        (":int??", 1, 6, "expected the end, found '?'"),
        ("() -> :integer", 1, 7, "there is no type :integer"),
        ("(x :Int) -> :int", 1, 4, "there is no type :Int"),
        ("{a \u{a0}:int}", 1, 4, "expected a type, found '\\u{a0}'"),
    ] {
        let error = bad(text);
        let place = (error.position.line, error.position.column);
        assert_eq!(place, (line, column), "{text:?}: {error}");
        let shown = error.to_string();
        let told = shown.split_once(": ").map(|(_, told)| told).unwrap();
        assert_eq!(told, format!("{message}. {}", error.hint()));
    }
}

#[test]
fn a_signature_has_limits() {
    let nested = |deep: usize| format!("{}:int{}", "[".repeat(deep), "]".repeat(deep));
    let deepest = SIGNATURE_DEPTH as usize;
    assert!(Signature::parse(&nested(deepest)).is_ok());
    let beside = "a [{}], ".repeat(deepest);
    assert!(Signature::parse(&format!("{{{beside}b [:int]}}")).is_ok());
    assert_eq!(bad(&nested(deepest + 1)).kind, SignatureErrorKind::TooDeep);
    assert_eq!(bad(&nested(30_000)).kind, SignatureErrorKind::TooDeep);
    let long = format!(":int{}", " ".repeat(SIGNATURE_BYTES));
    let bytes = SIGNATURE_BYTES + 4;
    assert_eq!(bad(&long).kind, SignatureErrorKind::TooLong { bytes });
    assert!(Signature::parse(&long[..SIGNATURE_BYTES]).is_ok());
}

#[test]
fn each_type_takes_what_it_says() {
    let values = [
        json!("t"),
        json!("a b"),
        json!(1),
        json!(1.0),
        json!(true),
        json!(null),
        json!([]),
        json!({}),
    ];
    for (kind, taken) in [
        (":string", "11------"),
        (":int", "--1-----"),
        (":float", "--11----"),
        (":bool", "----1---"),
        (":keyword", "1---11--"),
        (":map", "-------1"),
        (":any", "11111111"),
        (":datetime", "--------"),
        (":int?", "--1--1--"),
        ("[:int]", "------1-"),
        ("{}", "-------1"),
    ] {
        let kind = parsed(kind);
        let takes = values.iter().map(|value| match kind.output().check(value) {
            Ok(()) => '1',
            Err(_) => '-',
        });
        assert_eq!(takes.collect::<String>(), taken, "{kind}");
    }
}

#[test]
fn all_that_is_wrong_is_told_with_its_path() {
    let signature = "{a [{b :int, c :string?}], d :bool, e [:float], f {g :int}}";
    let value = json!({"a": [{"b": 1}, {"c": 2}, 3], "d": null, "e": {}, "f": "g", "h": 1});
    assert_eq!(
        wrong(signature, &value),
        "[a.1.b]: expected field, got nil\n\
         [a.1.c]: expected string, got int\n\
         [a.2]: expected map, got int\n\
         [d]: expected bool, got keyword\n\
         [e]: expected list, got map\n\
         [f]: expected map, got string"
    );
    assert_eq!(wrong(":keyword", &json!("")), "expected keyword, got string");
    assert_eq!(wrong(":datetime", &json!(1)), "expected datetime (%DateTime{}), got int");
}

#[test]
fn a_field_is_found_in_other_spellings() {
    for name in ["a_b-c", "a-b_c"] {
        let kind = parsed(&format!("{{{name} :int}}"));
        for spelt in ["a_b_c", name, "a-b-c"] {
            assert!(kind.output().check(&json!({ spelt: 1 })).is_ok(), "{name} {spelt}");
        }
        let both = json!({"a_b_c": "x", name: 1});
        assert!(kind.output().check(&both).is_err(), "{name}");
    }
}

#[test]
fn what_is_told_is_bounded_and_the_rest_is_counted() {
    let value = Json::Array(vec![json!("x"); MISMATCHES + 7]);
    let wrong = parsed("[:int]").output().check(&value).unwrap_err();
    assert_eq!((wrong.listed.len(), wrong.more), (MISMATCHES, 7));
    assert!(wrong.to_string().ends_with("[99]: expected int, got string\nand 7 more"));
}

#[test]
fn parameters_are_checked_as_a_map() {
    let signature = parsed("(query :string, limit :int?) -> :any");
    let input = signature.input();
    assert!(input.check(&json!({"query": "tea"})).is_ok());
    let wrong = input.check(&json!({"limit": "x"})).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "[query]: expected field, got nil\n[limit]: expected int, got string"
    );
}

#[test]
fn the_schema_says_the_same() {
    let schema = parsed("{a [:int], b :keyword?, c {}, d :any?}").output().schema().unwrap();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "integer"}},
                "b": {"type": ["string", "null"], "pattern": "^[a-zA-Z0-9+\\-*<>=?!_]+$"},
                "c": {"type": "object", "properties": {}, "required": []},
                "d": {},
            },
            "required": ["a", "c"],
        })
    );
}

#[test]
fn what_no_schema_can_say_is_refused_with_its_path() {
    let refused = |text: &str| match parsed(text).output().schema() {
        Err(error @ (SchemaError::DateTime { .. } | SchemaError::SameField { .. })) => {
            error.to_string()
        }
        Ok(schema) => panic!("{text}: {schema}"),
    };
    assert!(refused("{a [{b :datetime?}]}").contains("datetime at [a.0.b]"));
    assert!(refused("[{a_b :int, a-b :int}]").contains("the field [0.a-b] twice"));
}

#[test]
fn time_does_not_grow_faster_than_the_signature() {
    for part in ["[", "{a", "{a{", "a :int,", "a [:int],", ":int", " ", "a", "?", "\u{3000}"] {
        for before in ["", "{", "(", ":", "() -> {"] {
            let text = format!("{before}{}", part.repeat((SIGNATURE_BYTES - 8) / part.len()));
            let begun = Instant::now();
            let _ = Signature::parse(&text).map(|signature| signature.to_string());
            // It takes some milliseconds.
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(60), "{before:?} {part:?}: {took:?}");
        }
    }
}

fn plains() -> impl Strategy<Value = NamedType> {
    prop::sample::select(NamedType::ALL.to_vec())
}

fn types(names: &'static str) -> impl Strategy<Value = Type> {
    let leaves = prop_oneof![plains().prop_map(Type::Plain), plains().prop_map(Type::Optional)];
    leaves.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| Type::List(Box::new(item))),
            fields(names, inner).prop_map(Type::Map),
        ]
    })
}

fn fields(
    names: &'static str,
    kinds: impl Strategy<Value = Type>,
) -> impl Strategy<Value = Vec<Field>> {
    let field = (names, kinds).prop_map(|(name, kind)| Field { name: name.into(), kind });
    prop::collection::vec(field, 0..4)
}

/// Values that often are of the types of [`types`], their names being `a` to `c`.
fn values() -> impl Strategy<Value = Json> {
    let leaves = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        // With a fraction: JSON Schema calls 5.0 an integer.
        (-1_000_i32..1_000).prop_map(|n| json!(f64::from(n) + 0.5)),
        prop::sample::select(vec!["", "tea", "a b", "+-*<>=?!_", "\u{e9}", "a\n"])
            .prop_map(Json::from),
    ];
    leaves.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// A value of a type, where the type has one: what a schema must take.
fn sample(kind: &Type) -> Json {
    match kind {
        Type::Optional(_) => Json::Null,
        Type::Plain(NamedType::String | NamedType::Keyword) => json!("tea"),
        Type::Plain(NamedType::Int) => json!(1),
        Type::Plain(NamedType::Float) => json!(1.5),
        Type::Plain(NamedType::Bool) => json!(false),
        Type::Plain(NamedType::Map) => json!({"x": 1}),
        Type::Plain(NamedType::Any | NamedType::DateTime) => json!([]),
        Type::List(item) => json!([sample(item), sample(item)]),
        Type::Map(fields) => {
            fields.iter().map(|field| (field.name().to_owned(), sample(field.kind()))).collect()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn any_text_is_a_signature_or_has_a_place(
        text in prop_oneof!["[(){}\\[\\]:,?> \n\tab_-]{0,40}", "[({a ]{0,6}(:int|:map\\?|[-),}>\\] a]){0,9}", any::<String>()]
    ) {
        match Signature::parse(&text) {
            Ok(signature) => {
                prop_assert_eq!(Signature::parse(&signature.to_string()), Ok(signature));
            }
            Err(error) => {
                let lines = text.matches('\n').count() as u32 + 1;
                prop_assert!((1..=lines).contains(&error.position.line));
                prop_assert!(error.position.column >= 1);
            }
        }
    }

    #[test]
    fn what_is_shown_is_parsed_to_the_same(
        params in fields("[a-zA-Z_][a-zA-Z0-9_-]{0,8}", plains().prop_map(Type::Plain)),
        output in types("[a-zA-Z_][a-zA-Z0-9_-]{0,8}"),
    ) {
        let signature = Signature { params, output };
        let shown = signature.to_string();
        prop_assert_eq!(Signature::parse(&shown), Ok(signature.clone()));
        // Blanks may stand anywhere between the parts.
        let spread = shown.replace(", ", "\r\n,\t").replace('{', " { ").replace(']', " ] ");
        prop_assert_eq!(Signature::parse(&spread), Ok(signature));
    }

    #[test]
    fn what_the_schema_takes_the_type_takes(kind in types("[a-c]"), value in values()) {
        if let Ok(schema) = kind.schema() {
            let schema = jsonschema::validator_for(&schema).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let sample = sample(&kind);
            prop_assert!(schema.is_valid(&sample), "{} {}", kind, sample);
            prop_assert!(kind.check(&sample).is_ok(), "{} {}", kind, sample);
            if schema.is_valid(&value) {
                prop_assert!(kind.check(&value).is_ok(), "{} {}", kind, value);
            }
        }
    }
}
