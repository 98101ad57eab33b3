//! Output of a task, as far as it was kept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::TaskName;

/// Longest line that is shown as the reason of a failure, in bytes.
const LINE_BYTES_MAX: usize = 240;

/// Output of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Standard output; its beginning and its end where it was too long.
    pub stdout: OutputText,
    /// Standard error; its beginning and its end where it was too long.
    pub stderr: OutputText,
    /// Number of bytes that were not kept.
    pub n_dropped_bytes: u64,
}

/// How much of a running task's output is known already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPosition {
    /// Name of the task.
    pub task: TaskName,
    /// Bytes of its standard output that are known.
    #[serde(default)]
    pub stdout: u64,
    /// Bytes of its standard error that are known.
    #[serde(default)]
    pub stderr: u64,
}

/// What a running task has written since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputNews {
    /// Name of the task.
    pub task: TaskName,
    /// News of its standard output.
    pub stdout: StreamNews,
    /// News of its standard error.
    pub stderr: StreamNews,
}

/// Part of one of the outputs of a running task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamNews {
    /// Number of the bytes before this part; more than are known where those between are not kept.
    pub from: u64,
    /// The part.
    pub text: OutputText,
    /// Bytes that were written so far; the next answers have what this one has no room for.
    pub n_bytes: u64,
}

/// Bytes that are mostly text. In JSON they are a string where they are UTF-8 and the string is at most twice
/// as long, else `{"base64": "..."}`, so that a bound on the bytes bounds their JSON too.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OutputText(pub Vec<u8>);

impl Output {
    /// Last line with text of the standard error, else of the standard output, cut to [`LINE_BYTES_MAX`].
    pub fn last_line(&self) -> Option<String> {
        self.stderr.last_line().or_else(|| self.stdout.last_line())
    }

    /// Number of bytes that are kept.
    pub fn n_bytes(&self) -> usize {
        self.stdout.0.len() + self.stderr.0.len()
    }
}

impl OutputText {
    fn last_line(&self) -> Option<String> {
        let end = self.0.trim_ascii_end();
        let begin = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = end[begin..].trim_ascii_start();
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]);
        (!text.is_empty()).then(|| text.into_owned())
    }

    fn as_short_json(&self) -> Option<&str> {
        let cost = |byte: &u8| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..0x20 => 6,
            _ => 1,
        };
        let n_bytes_json = self.0.iter().map(cost).sum::<usize>();
        let is_short = n_bytes_json <= 2 * self.0.len();
        is_short.then(|| std::str::from_utf8(&self.0).ok()).flatten()
    }
}

impl std::fmt::Debug for OutputText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Json<S> {
    Plain(S),
    Coded { base64: String },
}

impl Serialize for OutputText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        let coded = || Json::Coded { base64: STANDARD.encode(&self.0) };
        self.as_short_json().map_or_else(coded, Json::Plain).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OutputText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return deserializer.deserialize_byte_buf(Bytes);
        }
        match Json::<String>::deserialize(deserializer)? {
            Json::Plain(text) => Ok(Self(text.into_bytes())),
            Json::Coded { base64 } => {
                let bytes = STANDARD.decode(base64);
                Ok(Self(bytes.map_err(|_| D::Error::custom("invalid base64"))?))
            }
        }
    }
}

struct Bytes;

impl serde::de::Visitor<'_> for Bytes {
    type Value = OutputText;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<OutputText, E> {
        Ok(OutputText(bytes.to_vec()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<OutputText, E> {
        Ok(OutputText(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], json: &str) {
        let text = OutputText(bytes.to_vec());
        assert_eq!(serde_json::to_string(&text).unwrap(), json);
        assert_eq!(serde_json::from_str::<OutputText>(json).unwrap(), text);
    }

    #[test]
    fn text_is_a_string_and_other_bytes_are_kept() {
        check(b"", r#""""#);
        check("grün\n".as_bytes(), r#""grün\n""#);
        check(b"\x1b[31mred text\x1b[0m", r#""\u001b[31mred text\u001b[0m""#);
        check(&[0xff, 0x00], r#"{"base64":"/wA="}"#);
        check(&[0, 0, 0], r#"{"base64":"AAAA"}"#);
    }

    #[test]
    fn the_last_line_is_that_of_the_errors_if_there_are_any() {
        let line = |stdout: &str, stderr: &str| {
            let text = |text: &str| OutputText(text.as_bytes().to_vec());
            Output { stdout: text(stdout), stderr: text(stderr), n_dropped_bytes: 0 }.last_line()
        };
        assert_eq!(line("one\ntwo\n", "three\n  four \r\n\n"), Some("four".to_owned()));
        assert_eq!(line("one\ntwo", " \n"), Some("two".to_owned()));
        assert_eq!(line("", ""), None);
        assert_eq!(line("", &"x".repeat(999)).map(|line| line.len()), Some(LINE_BYTES_MAX));
    }

    proptest! {
        #[test]
        fn any_bytes_come_back_and_json_is_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..99)) {
            let text = OutputText(bytes);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert!(json.len() <= 2 * text.0.len() + 20);
            prop_assert_eq!(serde_json::from_str::<OutputText>(&json).unwrap(), text);
        }
    }
}
