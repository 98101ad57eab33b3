//! Tests of refused structs with their messages, and of derived descriptions.

use super::derive;

/// Returns the errors for a struct that cannot be sent, one line per field.
fn refusal(source: &str) -> String {
    let refused = derive(source.parse().unwrap()).expect_err("it is refused");
    let sentences: Vec<String> = refused.into_iter().map(|error| error.to_string()).collect();
    sentences.join("\n")
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(refusal(source), expected);
}

/// Checks the error for a struct with a field of this type.
#[track_caller]
fn check_field(ty: &str, why: &str) {
    let source = format!("#[repr(C)] struct Body {{ mass: f64, extra: {ty} }}");
    check(&source, &format!("field `extra` of `Body` cannot be sent: {why}"));
}

#[test]
fn a_type_that_cannot_be_sent_is_named_with_what_to_do() {
    let packed = "derive serde's `Serialize` and `Deserialize` instead: such a type is sent packed";
    let elsewhere = |name| format!("what a `{name}` holds lies elsewhere in memory; {packed}");
    check_field("String", &elsewhere("String"));
    check_field("std::vec::Vec<f64>", &elsewhere("Vec"));
    check_field("&'static [f64]", &elsewhere("&'static[f64]"));
    check_field("*const u8", &elsewhere("*constu8"));
    check_field("[Box<u8>; 4]", &elsewhere("Box"));
    check_field("bool", &format!("bytes that arrive may be no `bool`; use `u8`, or {packed}"));
    check_field("char", &format!("bytes that arrive may be no `char`; use `u32`, or {packed}"));
    let variant = "bytes that arrive may be no variant of `Option`";
    check_field("Option<f64>", &format!("{variant}; {packed}"));
    check_field("usize", "`usize` is not as wide on every machine; use `u64`");
    check_field("[isize; 2]", "`isize` is not as wide on every machine; use `i64`");
    check_field("u128", "MPI has no datatype for `u128`; use `[u64; 2]`");
    let order = "the compiler chooses the order of a tuple's parts";
    let instead = "use an array or a struct with `#[repr(C)]`";
    check_field("(f64, f64)", &format!("{order}; {instead}, or {packed}"));
}

#[test]
fn an_item_that_cannot_be_sent_is_named_with_what_to_do() {
    let packed = "derive serde's `Serialize` and `Deserialize` instead: such a type is sent packed";
    check(
        "#[repr(u8)] enum Color { Red }",
        &format!("`Color` is an enum, and bytes that arrive may be none of its variants; {packed}"),
    );
    check(
        "#[repr(C)] union Word { a: u32, b: f32 }",
        "`Word` is a union, which does not say what its bytes are; use a struct",
    );
    check(
        "#[repr(C)] struct Pair<T> { a: T, b: T }",
        &format!(
            "`Pair` has parameters, so its layout depends on them; write a struct for each, or {packed}"
        ),
    );
    let order = "has its fields in an order that the compiler chooses; write `#[repr(C)]` above it";
    check("struct Body { mass: f64 }", &format!("`Body` {order}"));
    check("#[repr(align(16))] struct Body { mass: f64 }", &format!("`Body` {order}"));
    check(
        "#[repr(C)] struct Nothing;",
        "`Nothing` has no fields, so there is nothing to send; use `()` in its place",
    );
}

#[test]
fn every_bad_field_is_named() {
    let said = refusal("#[repr(C)] struct Body { a: String, b: f64, c: bool }");
    let fields: Vec<_> = said.lines().map(|line| line.split('`').nth(1)).collect();
    assert_eq!(fields, [Some("a"), Some("c")]);
}

#[test]
fn what_may_be_sent_is_described() {
    for source in [
        "#[repr(C)] struct Body { position: [f64; 2], mass: f64 }",
        "#[repr(C, align(8))] struct Pair(pub u32, pub [[i16; 3]; N]);",
        "#[repr(C, packed(2))] struct Tight { a: u8, b: other::Part }",
    ] {
        let written = derive(source.parse().unwrap()).unwrap().to_string();
        assert!(written.contains("impl :: master_worker :: Element for"), "{written}");
    }
}
