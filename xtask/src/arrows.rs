//! Rules for dependencies between crates: compares `arrows.toml` with the manifests.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Problem, manifest::Manifest};

/// Path of the rules from the root of the repository.
pub const FILE: &str = "arrows.toml";

/// Contents of `arrows.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrows {
    /// Every crate of the workspace, by package name.
    pub crates: BTreeMap<String, CrateRules>,
    /// Files whose length is not limited.
    #[serde(default)]
    pub length: LengthRules,
}

/// Rules of one crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrateRules {
    /// Layer of the crate.
    pub layer: Layer,
    /// True if the crate uses nothing outside of its arguments.
    #[serde(default)]
    pub pure: bool,
    /// True if the crate may contain `unsafe`.
    #[serde(default)]
    pub edge: bool,
    /// Crates of this workspace that it may depend on.
    #[serde(default)]
    pub may_use: Vec<String>,
    /// Further crates, of any layer, that only its tests may depend on.
    #[serde(default)]
    pub tests_use: Vec<String>,
}

/// Layers from the bottom to the top; nothing depends on a layer above its own.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Types and formats of what is measured and exchanged.
    Words,
    /// Pure computation: values in, values out.
    Rules,
    /// Code that touches memory and programs of others.
    Edges,
    /// Programs that users start.
    Programs,
    /// Tests of all the others.
    Tests,
}

/// Rules about the length of files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthRules {
    /// Tables of data with a row to a line, which may be long.
    pub tables: Vec<String>,
}

impl Arrows {
    /// Reads the text of `arrows.toml`.
    ///
    /// # Errors
    /// If the text does not have the shape of [`Arrows`].
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Rules of the crate that the file at `path` belongs to.
    #[must_use]
    pub fn crate_of(&self, path: &str) -> Option<&CrateRules> {
        let crates = ["crates/", "apps/"].into_iter().find_map(|roof| path.strip_prefix(roof));
        let folder = crates.unwrap_or(path);
        self.crates.get(folder.split('/').next()?)
    }

    /// Problems of manifests that break the rules, and of rules without a crate.
    #[must_use]
    pub fn check(&self, manifests: &[Manifest]) -> Vec<Problem> {
        let mut problems: Vec<Problem> =
            manifests.iter().flat_map(|manifest| self.check_manifest(manifest)).collect();
        for name in self.crates.keys() {
            if !manifests.iter().any(|manifest| manifest.name == *name) {
                problems.push(Problem::of_file(FILE, format!("there is no crate `{name}`")));
            }
        }
        problems.extend(self.check_layers());
        problems
    }

    fn check_manifest(&self, manifest: &Manifest) -> Vec<Problem> {
        let Some(rules) = self.crates.get(&manifest.name) else {
            let sentence = format!("crate `{}` is not in {FILE}: decide its arrows", manifest.name);
            return vec![Problem::of_file(&manifest.path, sentence)];
        };
        let shipped = self.ours(&manifest.dependencies);
        let forbidden = shipped.filter(|name| !rules.may_use.contains(name));
        let tested = self.ours(&manifest.test_dependencies);
        let forbidden_in_tests =
            tested.filter(|name| !rules.may_use.contains(name) && !rules.tests_use.contains(name));
        forbidden
            .chain(forbidden_in_tests)
            .map(|name| {
                let sentence = format!("no arrow to `{name}` in {FILE}: a new one is a decision");
                Problem::of_file(&manifest.path, sentence)
            })
            .collect()
    }

    fn ours<'a>(&self, names: &'a [String]) -> impl Iterator<Item = &'a String> {
        names.iter().filter(|name| self.crates.contains_key(*name))
    }

    fn check_layers(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, rules) in &self.crates {
            let all = rules.may_use.iter().chain(&rules.tests_use);
            for used in all.filter(|used| !self.crates.contains_key(*used)) {
                problems.push(format!("`{name}` may use `{used}`, which is no crate"));
            }
            // Tests may start programs of any layer.
            for (used, above) in
                rules.may_use.iter().filter_map(|used| self.crates.get_key_value(used))
            {
                if rules.layer < above.layer {
                    problems.push(format!("`{name}` may use `{used}` of a layer above"));
                } else if rules.pure && !above.pure {
                    problems.push(format!("`{name}` is pure and may use `{used}`, which is not"));
                }
            }
        }
        problems.into_iter().map(|sentence| Problem::of_file(FILE, sentence)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARROWS: &str = r#"
        [crates.events]
        layer = "words"
        pure = true
        [crates.ring]
        layer = "edges"
        may_use = ["events"]
        tests_use = ["probe"]
        [crates.probe]
        layer = "edges"
    "#;

    fn manifest(name: &str, dependencies: &[&str], test_dependencies: &[&str]) -> Manifest {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Manifest {
            path: format!("crates/{name}/Cargo.toml"),
            name: name.to_owned(),
            dependencies: owned(dependencies),
            test_dependencies: owned(test_dependencies),
            inherits_lints: true,
        }
    }

    #[track_caller]
    fn check(name: &str, dependencies: &[&str], test_dependencies: &[&str], n_problems: usize) {
        let arrows = Arrows::read(ARROWS).unwrap();
        let problems = arrows.check_manifest(&manifest(name, dependencies, test_dependencies));
        assert_eq!(problems.len(), n_problems, "{problems:?}");
    }

    #[test]
    fn a_dependency_needs_an_arrow() {
        check("ring", &["events", "libc"], &["probe"], 0);
        check("ring", &["probe"], &[], 1);
        check("events", &["ring"], &["probe"], 2);
        check("unlisted", &[], &[], 1);
    }

    #[track_caller]
    fn check_arrows(text: &str, expected: &[&str]) {
        let arrows = Arrows::read(text).unwrap();
        let names: Vec<Manifest> = arrows.crates.keys().map(|n| manifest(n, &[], &[])).collect();
        let problems = arrows.check(&names);
        let sentences: Vec<&str> = problems.iter().map(|p| p.sentence.as_str()).collect();
        assert_eq!(sentences, expected);
    }

    #[test]
    fn arrows_point_downwards() {
        check_arrows(ARROWS, &[]);
        check_arrows(
            &ARROWS.replace("pure = true", "may_use = [\"ring\"]"),
            &["`events` may use `ring` of a layer above"],
        );
        check_arrows(
            &ARROWS.replace("may_use = [\"events\"]", "may_use = [\"probe\"]\npure = true"),
            &["`ring` is pure and may use `probe`, which is not"],
        );
        check_arrows(
            &ARROWS.replace("\"probe\"", "\"gone\""),
            &["`ring` may use `gone`, which is no crate"],
        );
    }

    #[test]
    fn an_arrow_needs_its_crate() {
        let arrows = Arrows::read(ARROWS).unwrap();
        let problems = arrows.check(&[manifest("events", &[], &[]), manifest("ring", &[], &[])]);
        assert_eq!(problems, [Problem::of_file(FILE, "there is no crate `probe`")]);
    }

    #[test]
    fn a_file_belongs_to_the_crate_of_its_folder() {
        let arrows = Arrows::read(ARROWS).unwrap();
        assert!(arrows.crate_of("crates/events/src/lib.rs").is_some_and(|rules| rules.pure));
        assert!(arrows.crate_of("crates/unlisted/src/lib.rs").is_none());
        assert!(arrows.crate_of("events/src/lib.rs").is_some());
        assert!(arrows.crate_of("apps/events/src/lib.rs").is_some());
    }

    #[test]
    fn a_misspelled_rule_is_an_error() {
        assert!(Arrows::read(&ARROWS.replace("pure", "pur")).is_err());
        assert!(Arrows::read(&ARROWS.replace("words", "word")).is_err());
    }
}
