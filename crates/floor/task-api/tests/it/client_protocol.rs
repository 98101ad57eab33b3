//! The page about the protocol has examples of all messages with all their fields, and the daemon's types read them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use task_api::{ClientRequest, DaemonAnswer};

const PAGE: &str = include_str!("../../../../../docs/client-protocol.md");

/// Examples of the page: the lines of its blocks of JSON.
fn examples() -> Vec<Map<String, Value>> {
    let blocks = PAGE.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.flat_map(str::lines).map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Returns the example as the daemon reads and writes it.
#[track_caller]
fn read<M: DeserializeOwned + Serialize>(example: &Value) -> Value {
    let message = serde_json::from_value::<M>(example.clone());
    assert!(message.is_ok(), "{example}: {:?}", message.err());
    serde_json::to_value(message.unwrap()).unwrap()
}

/// Checks that no part of an example was ignored.
#[track_caller]
fn check_all_is_read(example: &Value, as_read: &Value) {
    match (example, as_read) {
        (Value::Object(example), Value::Object(as_read)) => {
            for (name, value) in example {
                let read = as_read.get(name);
                assert!(read.is_some(), "the types have no field `{name}`: {value}");
                check_all_is_read(value, read.unwrap());
            }
        }
        (Value::Array(example), Value::Array(as_read)) => {
            assert_eq!(example.len(), as_read.len());
            example.iter().zip(as_read).for_each(|(one, read)| check_all_is_read(one, read));
        }
        _ => assert_eq!(example, as_read),
    }
}

/// Adds the names of all fields of a value.
fn add_fields(value: &Value, to: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            to.extend(fields.keys().cloned());
            fields.values().for_each(|value| add_fields(value, to));
        }
        Value::Array(values) => values.iter().for_each(|value| add_fields(value, to)),
        _ => {}
    }
}

/// Words that the type accepts for its kinds, from its complaint about another one.
fn kinds<M: DeserializeOwned>(tag: &str) -> BTreeSet<String> {
    let wrong = serde_json::json!({ tag: "no such kind" });
    let complaint = serde_json::from_value::<M>(wrong).err().unwrap().to_string();
    let (_, words) = complaint.split_once("expected one of ").unwrap();
    words.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_message_has_an_example_that_is_read_whole() {
    let (mut requests, mut answers) = (BTreeSet::new(), BTreeSet::new());
    let (mut in_examples, mut of_types) = (BTreeSet::new(), BTreeSet::new());
    for example in examples() {
        let kind_of = |tag: &str| example.get(tag).and_then(Value::as_str).map(str::to_owned);
        let (request, answer) = (kind_of("request"), kind_of("answer"));
        let example = Value::Object(example);
        let as_read = match request.is_some() {
            true => read::<ClientRequest>(&example),
            false => read::<DaemonAnswer>(&example),
        };
        check_all_is_read(&example, &as_read);
        requests.extend(request);
        answers.extend(answer);
        add_fields(&example, &mut in_examples);
        add_fields(&as_read, &mut of_types);
    }
    assert_eq!(requests, kinds::<ClientRequest>("request"));
    assert_eq!(answers, kinds::<DaemonAnswer>("answer"));
    let missing: Vec<_> = of_types.difference(&in_examples).collect();
    assert!(missing.is_empty(), "the page has no example with {missing:?}");
}
