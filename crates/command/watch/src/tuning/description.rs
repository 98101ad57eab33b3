//! Chooses the program of a run and its description: the file that was named, or one that a program carries in its own
//! file.

use crate::options::TunerOptions;
use crate::programs::Programs;
use anyhow::{Context, anyhow, ensure};
use app_description::{Application, DescriptionProblem, Level};
use std::path::{Path, PathBuf};
use symbols::Program;
use user_io::bounded_read;

/// Description, and the text in which problems are shown.
#[derive(Default)]
pub(super) struct Description {
    pub(super) application: Application,
    file: String,
    text: String,
    /// Folder of libraries that it names.
    pub(super) folder: PathBuf,
    /// Sentence about where it was found; `None` if it was named.
    pub(super) origin: Option<String>,
}

/// Finds the description that is asked for, and its program.
///
/// # Errors
/// If there is none, it has errors, or its program is not there.
pub(super) fn choose(
    tuner: &TunerOptions,
    programs: &Programs,
) -> anyhow::Result<(Description, Program)> {
    if let Some(path) = &tuner.app {
        let description = Description::read(path)?;
        let program = programs.open(&described(&description, path, programs)?)?;
        let program = description.with_libraries(program)?;
        return Ok((description.of_program(&program), program));
    }
    if !tuner.needs_description() {
        let none = "the command names no program in which functions could be measured";
        let path = programs.observed.as_deref().context(none)?;
        return Ok((Description::default(), programs.open(path)?));
    }
    let carried = programs.nearest_first().find_map(|path| carried(path, programs));
    let (path, text, program) = carried.ok_or_else(|| undescribed(programs))?;
    let folder = program.path().parent().map(Path::to_owned).unwrap_or_default();
    let mut description = Description::of(text, format!("description in {path}"), folder)?;
    description.origin =
        Some(format!("description of `{}` in `{path}`", description.application.program));
    Ok((description.of_program(&program), program))
}

/// Opens a program that carries a description; returns the file that has it, its text and the program.
fn carried(path: &Path, programs: &Programs) -> Option<(String, String, Program)> {
    let program = programs.open(path).ok()?;
    let (file, text) = program.description()?;
    let file = file.display().to_string();
    Some((file, text, program))
}

/// Path of the program that a description is about: one with the name in the description, or one of another name that
/// carries a description for this name.
fn described(
    description: &Description,
    path: &Path,
    programs: &Programs,
) -> anyhow::Result<PathBuf> {
    let name = description.application.program.as_str();
    let is_named = |path: &&PathBuf| path.file_name().is_some_and(|file| file == name);
    let carries = |path: &&Path| {
        let text = carried(path, programs).map(|(_, text, _)| text);
        let application = text.and_then(|text| app_description::read(&text).0);
        application.is_some_and(|application| application.program == name)
    };
    let beside = || Some(path.parent()?.join(name)).filter(|path| path.is_file());
    let found = programs.all.iter().find(is_named).cloned().or_else(beside);
    found.or_else(|| programs.nearest_first().find(carries).map(Path::to_owned)).with_context(|| {
        format!(
            "the description is of `{name}`, which is neither in the command nor beside the description"
        )
    })
}

fn undescribed(programs: &Programs) -> anyhow::Error {
    match &programs.observed {
        Some(program) => anyhow!(
            "`{}` carries no description of itself, as programs of the master-worker library do{}; describe it, and \
             name the description with `--app APP.toml`",
            program.display(),
            missing(program, programs)
        ),
        None => anyhow!(
            "the command names no program that could carry a description of itself; name one with `--app APP.toml`"
        ),
    }
}

/// Sentence about libraries that are not found here: one of them may carry the description.
fn missing(program: &Path, programs: &Programs) -> String {
    let Ok(program) = programs.open(program) else { return String::new() };
    let names: Vec<&str> = program.missing_libraries().iter().map(String::as_str).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(", and `{}` is not found here (set `LD_LIBRARY_PATH`)", names.join("`, `"))
}

impl Description {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let file = path.display().to_string();
        let text = bounded_read::read_text(path, bounded_read::WRITTEN_BYTES_MAX)
            .with_context(|| format!("cannot read `{file}`"))?;
        Self::of(text, file, path.parent().map(Path::to_owned).unwrap_or_default())
    }

    fn of(text: String, file: String, folder: PathBuf) -> anyhow::Result<Self> {
        let (application, problems) = app_description::read(&text);
        let application = application.unwrap_or_default();
        let description = Self { application, file, text, folder, origin: None };
        description.judge(&problems)?;
        Ok(description)
    }

    /// Adds the libraries that the program loads itself; relative paths begin at the folder of the description.
    fn with_libraries(&self, mut program: Program) -> anyhow::Result<Program> {
        for library in &self.application.libraries {
            program.add_library(&self.folder.join(library)).with_context(|| {
                format!("`libraries` of `{}`: `{library}` is no library here", self.file)
            })?;
        }
        Ok(program)
    }

    /// Checks the description against its program.
    pub(super) fn check(&self, names: &impl app_description::ProgramNames) -> anyhow::Result<()> {
        self.judge(&app_description::check(&self.text, &self.application, names))
    }

    /// Takes the name of this program, which may be another one.
    fn of_program(mut self, program: &Program) -> Self {
        let path = program.path().canonicalize();
        if let Some(name) = path.ok().as_deref().and_then(Path::file_name) {
            self.application.program = name.to_string_lossy().into_owned();
        }
        self
    }

    /// Shows the problems; returns an error if any of them is one.
    fn judge(&self, problems: &[DescriptionProblem]) -> anyhow::Result<()> {
        for problem in problems {
            eprint!("{}", problem.render(&self.file, &self.text));
        }
        let n_errors = problems.iter().filter(|problem| problem.level == Level::Error).count();
        let s = if n_errors == 1 { "" } else { "s" };
        ensure!(n_errors == 0, "`{}` has {n_errors} error{s}", self.file);
        Ok(())
    }
}
