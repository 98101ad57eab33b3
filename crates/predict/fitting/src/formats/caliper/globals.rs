//! Numbers and short texts that a run records about itself, by Adiak or as Caliper's globals.

use super::stream::{Entries, Stream, unescaped};
use crate::formats::{Fault, number, run};

/// Adiak's types of no parameter.
const NO_NUMBERS: [&str; 4] = ["date", "timeval", "version", "path"];
/// Adiak's category of results.
const PERFORMANCE: &str = "3";

/// Globals of a run.
#[derive(Debug, Default)]
pub(super) struct Globals {
    /// Numbers; the number of processes is first and named `p`.
    pub(super) settings: Vec<(String, f64)>,
    /// Short texts.
    pub(super) words: Vec<(String, String)>,
}

impl Globals {
    /// Reads the globals of a record.
    pub(super) fn of(stream: &Stream<'_>, entries: &Entries<'_>) -> Result<Self, Fault> {
        let mut globals = Self::default();
        for id in &entries.nodes {
            stream.node(*id)?;
            for node in stream.chain(Some(*id)) {
                globals.add(stream, node.attribute, &node.value());
            }
        }
        for (attribute, written) in entries.attributes.iter().zip(&entries.values) {
            globals.add(stream, *attribute, &unescaped(written));
        }
        // A chain starts with what was recorded last.
        globals.settings.reverse();
        globals.words.reverse();
        run::name_processes(&mut globals.settings);
        Ok(globals)
    }

    fn add(&mut self, stream: &Stream<'_>, attribute: u64, value: &str) {
        let Ok(name) = stream.node(attribute).map(|node| node.value().into_owned()) else { return };
        if !is_own(stream, attribute, &name) {
            return;
        }
        match number(value) {
            Ok(value) if self.settings.iter().all(|(other, _)| *other != name) => {
                self.settings.push((name, value));
            }
            Err(_) if value.len() <= run::WORD_MAX && !value.starts_with('[') => {
                self.words.push((name, value.to_owned()));
            }
            _ => {}
        }
    }
}

/// Returns whether a global is the program's own.
fn is_own(stream: &Stream<'_>, attribute: u64, name: &str) -> bool {
    let has = |of: &str, values: &[&str]| {
        stream.inherited(attribute, of).is_some_and(|value| values.contains(&value.as_ref()))
    };
    run::is_own(name) && !has("adiak.type", &NO_NUMBERS) && !has("adiak.category", &[PERFORMANCE])
}
