//! Finds the libraries that a description names, so that ranks can be told their paths.

use anyhow::bail;
use app_description::{Application, Change};
use std::path::{Path, PathBuf};

/// Makes the paths of libraries absolute; relative ones are looked for beside the description, in `dir`.
pub(super) fn locate(application: &mut Application, dir: &Path) -> anyhow::Result<()> {
    for point in &mut application.tuning_points {
        match &mut point.change {
            Change::Load(path) => *path = located(path, dir, &point.name)?,
            Change::Replace { by, .. } => {
                let Some((library, name)) = Change::library_of(by) else { continue };
                *by = format!("{}:{name}", located(library, dir, &point.name)?);
            }
            Change::Variable(_) | Change::Call(_) => {}
        }
    }
    Ok(())
}

/// Makes a path absolute; one that is absolute is not checked, since it may exist only on the nodes.
fn located(library: &str, dir: &Path, point: &str) -> anyhow::Result<String> {
    let path = PathBuf::from(library);
    if path.is_absolute() {
        return Ok(library.to_owned());
    }
    let path = std::path::absolute(dir.join(path))?;
    if !path.is_file() {
        let path = path.display();
        bail!("tuning point `{point}`: there is no library `{path}`; name it by its whole path");
    }
    match path.to_str() {
        Some(path) if !path.contains(':') => Ok(path.to_owned()),
        _ => bail!("tuning point `{point}`: `{}` has a `:`; move the library", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(library: &str, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fast.so"), "").unwrap();
        let dir = folder.path().to_str().unwrap().to_owned();
        let found = located(library, folder.path(), "p").map_err(|error| error.to_string());
        let found = found.map(|text| text.replace(&dir, "DIR"));
        let found = found.map_err(|text| text.replace(&dir, "DIR"));
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn a_library_lies_beside_the_description() {
        check("fast.so", Ok("DIR/fast.so"));
        check("/on/the/nodes.so", Ok("/on/the/nodes.so"));
        let missing =
            "tuning point `p`: there is no library `DIR/none.so`; name it by its whole path";
        check("none.so", Err(missing));
    }
}
