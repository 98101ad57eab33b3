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
    /// Houses, the folders of `crates`, by name.
    pub houses: BTreeMap<String, HouseRules>,
    /// Every crate of the workspace, by package name.
    pub crates: BTreeMap<String, CrateRules>,
    /// Files whose length is not limited.
    #[serde(default)]
    pub length: LengthRules,
    /// Reasons of types above the limits, by their full names.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// Modules that may be in circles.
    #[serde(default)]
    pub circles: CircleRules,
}

/// House that every crate may use.
const FLOOR: &str = "floor";

/// Crates outside a house that its own may use, beside those of the floor.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HouseRules {
    /// Names of these crates.
    #[serde(default)]
    pub reaches: Vec<String>,
    /// True if they may use every crate.
    #[serde(default)]
    pub reaches_all: bool,
}

/// Rules of one crate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrateRules {
    /// True if the crate uses nothing outside of its arguments.
    #[serde(default)]
    pub pure: bool,
    /// True if the crate may contain `unsafe`.
    #[serde(default)]
    pub edge: bool,
    /// Crates of this workspace that it may depend on.
    #[serde(default)]
    pub may_use: Vec<String>,
    /// Further crates, of any house, that only its tests may depend on.
    #[serde(default)]
    pub tests_use: Vec<String>,
}

/// Rules about the length of files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthRules {
    /// Tables of data with a row to a line, which may be long.
    pub tables: Vec<String>,
}

/// Exceptions to the rule that modules form no circle.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircleRules {
    /// Full names of modules that list others which name them.
    #[serde(default)]
    pub registries: Vec<String>,
    /// Reasons why a module may name another, by `from -> to`.
    #[serde(default)]
    pub known: BTreeMap<String, String>,
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
        let mut folders = path.split('/');
        let name = match folders.next()? {
            "crates" => folders.nth(1)?,
            "apps" => folders.next()?,
            folder => folder,
        };
        self.crates.get(name)
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
        problems.extend(self.check_houses(manifests));
        problems.extend(self.check_purity());
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

    fn check_houses(&self, manifests: &[Manifest]) -> Vec<Problem> {
        let houses: BTreeMap<&str, &str> = manifests
            .iter()
            .filter_map(|manifest| Some((manifest.name.as_str(), house_of(&manifest.path)?)))
            .collect();
        let mut problems = Vec::new();
        for (name, house) in &houses {
            let Some(rules) = self.houses.get(*house) else {
                problems.push(format!("`{name}` is in a house `{house}` that is not listed"));
                continue;
            };
            let used = self.crates.get(*name).into_iter().flat_map(|rules| &rules.may_use);
            for used in used.filter(|used| !rules.reaches_all && !rules.reaches.contains(used)) {
                match houses.get(used.as_str()) {
                    Some(other) if other != house && *other != FLOOR => {
                        problems.push(format!(
                            "`{name}` may use `{used}`, which `{house}` does not reach"
                        ));
                    }
                    _ => {}
                }
            }
        }
        problems.into_iter().map(|sentence| Problem::of_file(FILE, sentence)).collect()
    }

    fn check_purity(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, rules) in &self.crates {
            let all = rules.may_use.iter().chain(&rules.tests_use);
            for used in all.filter(|used| !self.crates.contains_key(*used)) {
                problems.push(format!("`{name}` may use `{used}`, which is no crate"));
            }
            let used = rules.may_use.iter().filter_map(|used| self.crates.get_key_value(used));
            for (used, _) in used.filter(|(_, below)| rules.pure && !below.pure) {
                problems.push(format!("`{name}` is pure and may use `{used}`, which is not"));
            }
        }
        problems.into_iter().map(|sentence| Problem::of_file(FILE, sentence)).collect()
    }
}

/// House of the crate with this manifest.
fn house_of(manifest_path: &str) -> Option<&str> {
    manifest_path.strip_prefix("crates/")?.split('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARROWS: &str = r#"
        [houses]
        floor = {}
        observe = {}
        tasks = {}
        [crates.events]
        pure = true
        [crates.ring]
        may_use = ["events"]
        tests_use = ["probe"]
        [crates.probe]
    "#;

    /// Path of the manifest of a crate of these tests.
    fn path(name: &str) -> String {
        let house = match name {
            "events" => "floor",
            "node" => "tasks",
            "lone" => "lost",
            _ => "observe",
        };
        format!("crates/{house}/{name}/Cargo.toml")
    }

    fn manifest(name: &str, dependencies: &[&str], test_dependencies: &[&str]) -> Manifest {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Manifest {
            path: path(name),
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
    fn the_pure_use_what_is_pure() {
        check_arrows(ARROWS, &[]);
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
    fn arrows_stay_in_their_house_or_go_to_the_floor() {
        let node = "[crates.node]\nmay_use = [\"events\", \"ring\"]\n";
        let reaching = ARROWS.replace("tasks = {}", "tasks = { reaches = [\"ring\"] }");
        let above = ARROWS.replace("tasks = {}", "tasks = { reaches_all = true }");
        let of_tasks = ["`node` may use `ring`, which `tasks` does not reach"];
        check_arrows(&format!("{ARROWS}{node}"), &of_tasks);
        check_arrows(&format!("{reaching}{node}"), &[]);
        check_arrows(&format!("{above}{node}"), &[]);
        let floor = ARROWS.replace("pure = true", "may_use = [\"ring\"]");
        check_arrows(&floor, &["`events` may use `ring`, which `floor` does not reach"]);
        let lone = format!("{ARROWS}[crates.lone]\n");
        check_arrows(&lone, &["`lone` is in a house `lost` that is not listed"]);
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
        assert!(arrows.crate_of("crates/floor/events/src/lib.rs").is_some_and(|rules| rules.pure));
        assert!(arrows.crate_of("crates/floor/unlisted/src/lib.rs").is_none());
        assert!(arrows.crate_of("events/src/lib.rs").is_some());
        assert!(arrows.crate_of("apps/events/src/lib.rs").is_some());
    }

    #[test]
    fn a_misspelled_rule_is_an_error() {
        assert!(Arrows::read(&ARROWS.replace("pure", "pur")).is_err());
        assert!(Arrows::read(&ARROWS.replace("floor = {}", "floor = { reach = [] }")).is_err());
    }
}
