//! Texts of which each makes a task: the lines of a file, or the values of a JSON file.

use anyhow::{Context, anyhow};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// Most bytes of the texts of one submission; longer files make several of one job.
const ITEMS_BYTES_MAX: usize = 128 << 10;

/// Lines of a file, or of standard input where the path is `-`, without empty ones.
pub(super) fn lines(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = read(path, "--each-line")?;
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let lines = lines.filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    some(lines, path, "--each-line")
}

/// Values of a JSON array, or of a file with a value on each line, as JSON; a string stands for its text.
pub(super) fn values(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = read(path, "--from-json")?;
    let wrong = |error: serde_json::Error| {
        let path = path.display();
        anyhow!(
            "`{path}` for `--from-json` is no JSON: {error}; write an array, or a value on each line"
        )
    };
    let values = match text.trim_start().starts_with('[') {
        true => serde_json::from_str::<Vec<Value>>(&text).map_err(wrong)?,
        false => {
            let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
            values.collect::<Result<_, _>>().map_err(wrong)?
        }
    };
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    some(values.into_iter().map(text).collect(), path, "--from-json")
}

fn some(items: Vec<String>, path: &Path, option: &str) -> anyhow::Result<Vec<String>> {
    if items.is_empty() {
        return Err(anyhow!("`{}` for `{option}` holds nothing to run", path.display()));
    }
    Ok(items)
}

fn read(path: &Path, option: &str) -> anyhow::Result<String> {
    let failed = || format!("`{}` for `{option}` cannot be read", path.display());
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    } else {
        bytes = std::fs::read(path).with_context(failed)?;
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("`{}` is not UTF-8", path.display()))
}

/// Parts of the texts that fit into a submission each.
pub(super) fn parts(items: Vec<String>) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    let mut n_bytes = 0;
    for item in items {
        if ITEMS_BYTES_MAX < n_bytes + item.len() && 0 < n_bytes {
            parts.push(Vec::new());
            n_bytes = 0;
        }
        n_bytes += item.len() + 8;
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts
}

/// The command with `{}` written as the daemon has it; where nothing stands for the text, it is the last argument.
pub(super) fn with_item(command: Vec<String>) -> Vec<String> {
    let is_named = command.iter().any(|word| word.contains("{}") || word.contains("%{item}"));
    let reads_variable = command.iter().any(|word| word.contains("SINTONIA_ITEM"));
    let mut words: Vec<_> = command.iter().map(|word| word.replace("{}", "%{item}")).collect();
    if !is_named && !reads_variable {
        words.push("%{item}".to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn each_line_and_each_value_is_a_text() {
        let items = lines(file("a b\r\n\n  \nc\n").path()).unwrap();
        assert_eq!(items, ["a b", "c"]);
        let array = values(file(r#"[{"x": 1}, "two words", 3]"#).path()).unwrap();
        assert_eq!(array, [r#"{"x":1}"#, "two words", "3"]);
        assert_eq!(values(file("{\"x\": 1}\n{\"x\": 2}\n").path()).unwrap().len(), 2);
        let wrong = values(file("[1, 2").path()).unwrap_err().to_string();
        assert!(wrong.contains("for `--from-json` is no JSON: EOF"), "{wrong}");
        let none = lines(file("\n").path()).unwrap_err().to_string();
        assert!(none.ends_with("for `--each-line` holds nothing to run"), "{none}");
    }

    #[test]
    fn long_files_are_several_submissions() {
        let items = vec!["x".repeat(1000); 300];
        let parts = parts(items.clone());
        assert!(1 < parts.len() && parts.concat() == items);
        assert_eq!(self::parts(vec!["y".repeat(1 << 20)]).len(), 1);
    }

    #[test]
    fn the_text_is_where_the_braces_are_or_at_the_end() {
        let check = |words: &[&str], expected: &[&str]| {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(with_item(words), expected);
        };
        check(&["convert", "{}", "out/{}.png"], &["convert", "%{item}", "out/%{item}.png"]);
        check(&["gzip"], &["gzip", "%{item}"]);
        check(&["sh", "-c", "run $SINTONIA_ITEM"], &["sh", "-c", "run $SINTONIA_ITEM"]);
        check(&["run", "%{item}"], &["run", "%{item}"]);
    }
}
