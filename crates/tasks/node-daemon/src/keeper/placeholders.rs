//! Words of a command in which each task of an array has something else.

use node_core::interface::Job;

/// Replaces `%{index}`, `%{item}`, `%{task}`, `%{instance}` and `%{cpus}` by what the attempt has for it; what it has not
/// stays as it is, and so does anything else.
pub(super) fn fill(text: &str, job: &Job) -> String {
    let mut rest = text;
    let mut filled = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("%{") {
        filled.push_str(before);
        let value =
            after.split_once('}').and_then(|(name, after)| Some((value(name, job)?, after)));
        match value {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push_str("%{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn value(name: &str, job: &Job) -> Option<String> {
    match name {
        "index" => job.input.array_index.map(|index| index.to_string()),
        "item" => job.input.item.clone(),
        "task" => Some(job.name.clone()),
        "instance" => Some(job.attempt.instance.to_string()),
        "cpus" => Some(job.allocation.cpus.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node_core::interface::{Allocation, TaskInput, Work};
    use std::sync::Arc;

    #[test]
    fn names_in_braces_are_replaced_and_nothing_else() {
        let job = Job {
            attempt: super::super::testing::attempt(7),
            name: "alpha.7".to_owned(),
            work: Arc::new(Work::from_words(None, "true".into(), Arc::default())),
            input: TaskInput { array_index: Some(3), item: Some("a %{index} b".to_owned()) },
            allocation: Allocation { cpus: 4, ..Allocation::default() },
            lease_until: None,
            n_at_once: None,
        };
        let check = |text: &str, expected: &str| assert_eq!(fill(text, &job), expected);
        check("in-%{index}.txt", "in-3.txt");
        check("%{item}", "a %{index} b");
        check("%{task}/%{cpus}%{index}", "alpha.7/43");
        check("%{what} %{ %{index", "%{what} %{ %{index");
        check("{} $INDEX %", "{} $INDEX %");
    }
}
