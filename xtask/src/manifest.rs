//! Parts of a crate's `Cargo.toml` that the rules are about.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Problem;

/// Crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Path of the file from the root of the repository.
    pub path: String,
    /// Name of the package.
    pub name: String,
    /// Packages that the crate and its build script depend on, on any platform.
    pub dependencies: Vec<String>,
    /// Packages that only its tests, examples and benchmarks depend on.
    pub test_dependencies: Vec<String>,
    /// True if it inherits the lints of the workspace.
    pub inherits_lints: bool,
}

type Table = BTreeMap<String, toml::Value>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CargoToml {
    package: Package,
    #[serde(default)]
    lints: Table,
    #[serde(default)]
    target: BTreeMap<String, Dependencies>,
    #[serde(flatten)]
    anywhere: Dependencies,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Dependencies {
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
}

/// Reads the manifest at `path`.
///
/// # Errors
/// If `text` is no manifest of a package.
pub fn read_manifest(path: &str, text: &str) -> Result<Manifest, toml::de::Error> {
    let cargo: CargoToml = toml::from_str(text)?;
    let everywhere = || cargo.target.values().chain([&cargo.anywhere]);
    let shipped =
        everywhere().flat_map(|d| d.dependencies.iter().chain(&d.build_dependencies)).map(package);
    let tested = everywhere().flat_map(|d| &d.dev_dependencies).map(package);
    Ok(Manifest {
        path: path.to_owned(),
        dependencies: shipped.collect(),
        test_dependencies: tested.collect(),
        inherits_lints: cargo.lints.get("workspace") == Some(&toml::Value::Boolean(true)),
        name: cargo.package.name,
    })
}

/// Package of a dependency, which may be renamed.
fn package((key, value): (&String, &toml::Value)) -> String {
    let renamed = value.get("package").and_then(toml::Value::as_str);
    renamed.unwrap_or(key).to_owned()
}

/// Checks that a crate inherits the lints: with its own list it would escape the common rules.
#[must_use]
pub fn lints(manifest: &Manifest) -> Vec<Problem> {
    if manifest.inherits_lints {
        return Vec::new();
    }
    let sentence = "add `[lints] workspace = true`; loosen in the source, with a reason";
    vec![Problem::of_file(&manifest.path, sentence)]
}

/// Checks that a crate is named like its folder, by which the rules find the crate of a file.
#[must_use]
pub fn folder(manifest: &Manifest) -> Vec<Problem> {
    if manifest.path.rsplit('/').nth(1) == Some(manifest.name.as_str()) {
        return Vec::new();
    }
    let sentence = format!("crate `{}`: name it as its folder", manifest.name);
    vec![Problem::of_file(&manifest.path, sentence)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
        [package]
        name = "probe"
        [dependencies]
        ring.workspace = true
        words = { package = "events", path = "../events" }
        [target.'cfg(unix)'.dependencies]
        libc = "0.2"
        [build-dependencies]
        mpi-abi.workspace = true
        [dev-dependencies]
        proptest = "1"
        [lints]
        workspace = true
    "#;

    #[test]
    fn every_kind_of_dependency_is_found_under_its_package_name() {
        let manifest = read_manifest("Cargo.toml", MANIFEST).unwrap();
        let mut dependencies = manifest.dependencies;
        dependencies.sort();
        assert_eq!(dependencies, ["events", "libc", "mpi-abi", "ring"]);
        assert_eq!(manifest.test_dependencies, ["proptest"]);
        assert_eq!(manifest.name, "probe");
    }

    #[test]
    fn own_lints_are_a_problem() {
        let without = MANIFEST.replace("[lints]\n        workspace = true", "");
        assert_eq!(lints(&read_manifest("Cargo.toml", MANIFEST).unwrap()), []);
        assert_eq!(lints(&read_manifest("Cargo.toml", &without).unwrap()).len(), 1);
    }

    #[test]
    fn a_crate_is_named_as_its_folder() {
        let in_folder = |path| folder(&read_manifest(path, MANIFEST).unwrap()).len();
        assert_eq!(in_folder("crates/observe/probe/Cargo.toml"), 0);
        assert_eq!(in_folder("probe/Cargo.toml"), 0);
        assert_eq!(in_folder("crates/prober/Cargo.toml"), 1);
        assert_eq!(in_folder("Cargo.toml"), 1);
    }

    #[test]
    fn a_workspace_is_no_package() {
        assert!(read_manifest("Cargo.toml", "[workspace]").is_err());
    }
}
