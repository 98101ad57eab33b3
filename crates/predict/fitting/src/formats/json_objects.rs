//! JSON objects that follow each other: lines, or files put together.

use super::Fault;
use serde::de::DeserializeOwned;

/// Returns each object or its fault, with the index of the line where it starts or is wrong.
///
/// After a fault, reading goes on with the next line that starts an object.
pub(super) fn objects<T: DeserializeOwned>(text: &str) -> Vec<(usize, Result<T, Fault>)> {
    let mut found = Vec::new();
    let (mut rest, mut line_idx) = (text, 0);
    loop {
        let blank = rest.len() - rest.trim_start().len();
        line_idx += n_lines(&rest[..blank]);
        rest = &rest[blank..];
        if rest.is_empty() {
            return found;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<T>();
        let object = stream.next().expect("the rest is not blank");
        let n_read = match object {
            Ok(object) => {
                found.push((line_idx, Ok(object)));
                stream.byte_offset()
            }
            Err(error) => {
                let fault = Fault::Malformed(without_place(&error));
                let wrong_idx = line_idx + error.line().saturating_sub(1);
                found.push((wrong_idx, Err(fault)));
                rest[1..].find("\n{").map_or(rest.len(), |at| at + 2)
            }
        };
        line_idx += n_lines(&rest[..n_read]);
        rest = &rest[n_read..];
    }
}

fn n_lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// Returns an error as a sentence without its line, which counts from the object.
fn without_place(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "it ends within an object: write the file again".to_owned();
    }
    let said = error.to_string();
    said.rsplit_once(" at line ").map_or(said.clone(), |(said, _)| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_object_costs_itself() {
        let text = "{\"a\": 1}\n\n{\"a\":\n  x}\n{\"a\": 3}{\"a\": 4}\n{\"a\":";
        let found = objects::<serde_json::Value>(text);
        let said: Vec<(usize, bool)> = found.iter().map(|(idx, it)| (*idx, it.is_ok())).collect();
        assert_eq!(said, [(0, true), (3, false), (4, true), (4, true), (5, false)]);
        assert_eq!(objects::<serde_json::Value>(" \n"), []);
    }
}
