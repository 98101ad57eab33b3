//! Parses options of tunlets on the command line, `NAME:OPTION=VALUE,OPTION=VALUE`, and reads files that they name.

use anyhow::{Context, bail};
use app_description::Application;
use std::path::Path;

/// Option that names a file of models, whose text the tunlet gets.
const MODEL: &str = "model";

/// Name of a tunlet in an argument of `--tunlet`, without the options.
pub(super) fn name(written: &str) -> &str {
    match written.split_once(':') {
        Some((name, options)) if options.contains('=') => name,
        _ => written,
    }
}

/// Adds the options that follow names to those of the description, and reads the files that options name: those of the
/// description beside it, in `dir`.
///
/// # Errors
/// If one cannot be read, or the options are of a tunlet in a library, whose name is not known yet.
pub(super) fn add(
    application: &mut Application,
    written: &[String],
    dir: &Path,
) -> anyhow::Result<()> {
    for options in application.tunlet_options.values_mut() {
        if let Some(model) = options.get_mut(MODEL) {
            *model = read(&dir.join(&*model))?;
        }
    }
    for written in written {
        let name = name(written);
        let Some(options) = written.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'))
        else {
            continue;
        };
        if tunlets::built_in(name).is_none() {
            bail!(
                "`--tunlet {written}`: options can be given here to built-in tunlets only; write them into APP.toml"
            );
        }
        let its = application.tunlet_options.entry(name.to_owned()).or_default();
        for option in options.split(',') {
            let (key, value) = option.split_once('=').with_context(|| {
                format!("`--tunlet {written}`: `{option}` is not an option; write OPTION=VALUE")
            })?;
            let value = if key == MODEL { read(Path::new(value))? } else { value.to_owned() };
            its.insert(key.to_owned(), value);
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    user_io::bounded_read::read_text(path, user_io::bounded_read::MEASURED_BYTES_MAX).with_context(
        || {
            format!(
                "cannot read the models in `{}`; write them with `sintonia fit -o`",
                path.display()
            )
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, expected: Result<&[(&str, &str)], &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m.json");
        std::fs::write(&path, "models").expect("written");
        let mut application = Application::default();
        let own = [("model".to_owned(), "m.json".to_owned())].into();
        application.tunlet_options.insert("search".to_owned(), own);
        let written = written.replace("M.json", &path.display().to_string());
        let added = add(&mut application, &[written], folder.path());
        assert_eq!(application.tunlet_options["search"]["model"], "models");
        match expected {
            Err(part) => assert!(format!("{:#}", added.unwrap_err()).contains(part)),
            Ok(options) => {
                added.unwrap();
                let its =
                    application.tunlet_options.get("worker-count").cloned().unwrap_or_default();
                let its: Vec<(&str, &str)> =
                    its.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                assert_eq!(its, options);
            }
        }
    }

    #[test]
    fn options_stand_behind_a_name() {
        check("worker-count", Ok(&[]));
        check("worker-count:gain=5,window=2", Ok(&[("gain", "5"), ("window", "2")]));
        check("worker-count:model=M.json", Ok(&[("model", "models")]));
        check("./a:b.so", Ok(&[]));
        check("worker-count:model=none.json", Err("cannot read the models in `none.json`"));
        check("worker-count:gain=5,x", Err("`x` is not an option"));
        check("lib.so:gain=5", Err("built-in tunlets only"));
    }

    #[test]
    fn names_are_without_options() {
        assert_eq!(name("worker-count:model=a.json"), "worker-count");
        assert_eq!(name("a:b.so"), "a:b.so");
    }
}
