//! Text of a description: blocks that hold, suggestions that are commented out, and the reason of each.
//!
//! Prose begins with `# `, a suggestion with `#` alone, so that both a person and a test can uncomment suggestions.

use crate::evidence::Evidence;
use crate::iteration::IterationCall;
use crate::roles::Role;
use app_description::{Level, check, read};
use server::resolve::Names;
use std::collections::BTreeSet;
use symbols::{Function, Program, Reached, members_of_arguments};

/// Longest line of prose.
const N_COLUMNS: usize = 110;
/// Most suggestions in one description.
const N_SUGGESTIONS_MAX: usize = 32;

/// Description that grows by blocks which hold.
pub(crate) struct Page<'a> {
    program: &'a Program,
    /// What is shown.
    text: String,
    /// The same with all suggestions uncommented, as it was checked.
    whole: String,
    /// Names of events and tuning points.
    names: BTreeSet<String>,
    n_suggestions: usize,
}

impl<'a> Page<'a> {
    /// Begins with what every description has.
    pub(crate) fn new(
        program: &'a Program,
        evidence: &Evidence,
        run: &str,
        roles: &[Role],
    ) -> Self {
        let (text, whole, names) = (String::new(), String::new(), BTreeSet::new());
        let mut page = Self { program, text, whole, names, n_suggestions: 0 };
        page.prose(&format!(
            "First description of `{}`, written by `sintonia suggest` from the run in `{}`: `{}`, {:.3} s.",
            evidence.program, run, evidence.command, evidence.elapsed_s
        ));
        page.prose(
            "Lines that begin with `#` and no space are suggestions: remove the `#` of a whole paragraph. Reference: \
             docs/application-description.md.",
        );
        unknown(program, evidence).iter().for_each(|sentence| page.prose(sentence));
        page.push(&format!("format = 1\nprogram = {}\n\n", quoted(&evidence.program)), true);
        if let [_, _, ..] = roles {
            page.prose("Ranks whose MPI calls are mostly the same.");
        }
        let mut actors = "[actors]\n".to_owned();
        for role in roles {
            actors.push_str(&format!("{} = {}\n", role.name, quoted(&role.text)));
        }
        if !roles.iter().any(|role| role.name == "all") {
            actors.push_str("all = \"all\"\n");
        }
        page.push(&(actors + "\n"), true);
        page
    }

    /// Adds the iteration, or the reason why there is none.
    pub(crate) fn add_iteration(&mut self, found: &Result<IterationCall, String>) {
        match found {
            Ok(found) => {
                let toml = format!("[iteration]\ncall = {}\n", quoted(&found.call));
                self.add(&found.reason, &toml, true);
            }
            Err(why) => {
                self.prose(&format!("No `[iteration]`: {why}."));
                self.text.push('\n');
            }
        }
    }

    /// Adds a block with its reason, if the description then still holds; returns whether it does.
    pub(crate) fn add(&mut self, reason: &str, toml: &str, is_active: bool) -> bool {
        if !is_active && N_SUGGESTIONS_MAX <= self.n_suggestions {
            return false;
        }
        let Some(warnings) = self.warnings_with(toml) else { return false };
        self.n_suggestions += usize::from(!is_active);
        self.prose(reason);
        warnings.iter().for_each(|warning| self.prose(&format!("Note: {warning}.")));
        self.push(&format!("{toml}\n"), is_active);
        true
    }

    /// Name that no event and no tuning point has yet.
    pub(crate) fn free_name(&mut self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        let name = names.find(|name| !self.names.contains(name)).unwrap_or_default();
        self.names.insert(name.clone());
        name
    }

    /// Numbers in the structures that arguments of a function point to.
    pub(crate) fn members_of_arguments(&self, function: &Function) -> Vec<Reached> {
        members_of_arguments(self.program, function)
    }

    /// Adds a heading.
    pub(crate) fn heading(&mut self, text: &str) {
        self.prose(&format!("---- {text}"));
        self.text.push('\n');
    }

    /// Completes the text.
    pub(crate) fn finish(mut self, evidence: &Evidence) -> String {
        if !evidence.openmp.is_empty() {
            self.heading("OpenMP: `--tune=threads` needs no description");
            evidence.openmp.iter().take(8).for_each(|sentence| self.prose(&format!("{sentence}.")));
        }
        self.text.trim_end().to_owned() + "\n"
    }

    /// Returns the warnings of the description with a further block; `None` if it has errors.
    fn warnings_with(&self, toml: &str) -> Option<Vec<String>> {
        let whole = format!("{}{toml}", self.whole);
        let line = self.whole.lines().count();
        let (application, mut problems) = read(&whole);
        problems.extend(check(&whole, &application?, &Names::of(self.program)));
        let has_error = problems.iter().any(|problem| problem.level == Level::Error);
        let own = problems.into_iter().filter(|problem| line < problem.line);
        (!has_error).then(|| own.map(|problem| problem.sentence).collect())
    }

    fn push(&mut self, toml: &str, is_active: bool) {
        self.whole.push_str(toml);
        for line in toml.lines() {
            let mark = if is_active || line.is_empty() { "" } else { "#" };
            self.text.extend([mark, line, "\n"]);
        }
    }

    fn prose(&mut self, sentence: &str) {
        let mut line = "#".to_owned();
        for word in sentence.split_whitespace() {
            if N_COLUMNS < line.chars().count() + 1 + word.chars().count() && line != "#" {
                self.text.extend([line.as_str(), "\n"]);
                line = "#".to_owned();
            }
            line.push(' ');
            line.push_str(word);
        }
        self.text.extend([line.as_str(), "\n"]);
    }
}

/// Text as a basic string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            _ if letter.is_control() => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

/// Sentences about what cannot be known of the program.
fn unknown(program: &Program, evidence: &Evidence) -> Vec<String> {
    let mut sentences = Vec::new();
    let library = program.library_of_code().and_then(|library| library.file_name());
    let library = library.map(|file| file.to_string_lossy());
    match (program.is_stripped(), program.has_debug_info(), library) {
        (true, false, Some(library)) => sentences.push(format!(
            "`{}` is stripped; most of its MPI calls are made by `{library}`, of which only what that exports is known: \
             variables, arguments and members need a build with `-g`.",
            evidence.program
        )),
        (true, false, None) => sentences.push(format!(
            "`{}` is stripped: only what it exports is known; variables, arguments and members need a build with `-g`.",
            evidence.program
        )),
        (false, false, _) => sentences.push(format!(
            "`{}` has no debug information: types, arguments, members and replacements need a build with `-g`.",
            evidence.program
        )),
        _ => {}
    }
    if evidence.sampled.is_empty() {
        let why = evidence.no_samples.as_deref().map_or(String::new(), |why| format!(" ({why})"));
        sentences.push(format!(
            "The run has no samples of functions{why}: functions are known by their MPI calls and by `--probe` alone; \
             `sintonia run --sample` may help."
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_in_its_quotes() {
        assert_eq!(quoted("operator\"\"_x\\\n"), "\"operator\\\"\\\"_x\\\\\\u000a\"");
    }
}
