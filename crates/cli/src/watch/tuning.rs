//! What a run is tuned with: description, program and tunlets, all checked before the command starts.

mod libraries;

use crate::arguments::Tuned;
use analyzer::TuningOptions;
use analyzer::tuning::Plan;
use analyzer::tuning::resolve::{Names, ResolveError, resolve};
use anyhow::{Context, anyhow, bail};
use application::{Application, Level, Problem};
use run_record::RunRecord;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use symbols::Program;
use tunlet_abi::ForeignTunlet;
use tunlets::Tunlet;
use tunlets::conductor::{Mode, Options};
use tunlets::rehearsal::{check_needs, rehearse};

/// What a run is tuned with.
pub(crate) struct Tuning {
    application: Application,
    pub(crate) plan: Plan,
    tunlets: Vec<Box<dyn Tunlet>>,
    mode: Mode,
    options: Options,
}

impl Tuning {
    /// Reads and checks everything; none when nothing of it was asked for. `find` gives the program that has a
    /// file name, or the one program there is when that is empty.
    pub(crate) fn prepare(
        tuned: &Tuned,
        find: impl Fn(&str) -> Option<PathBuf>,
    ) -> anyhow::Result<Option<Self>> {
        if tuned.app.is_none() && tuned.probe.is_empty() {
            return Ok(None);
        }
        let described = tuned.app.as_deref().map(Description::read).transpose()?;
        let name = described.as_ref().map_or("", |it| it.application.program.as_str());
        let beside = tuned.app.as_deref().and_then(Path::parent).map(|dir| dir.join(name));
        let path = find(name)
            .or_else(|| beside.filter(|path| path.is_file() && !name.is_empty()))
            .with_context(|| not_found(name))?;
        let program = Program::open(&path)?;
        let described = described.unwrap_or_default();
        let problems =
            application::check(&described.text, &described.application, &Names::of(&program));
        described.judge(&problems)?;
        let dir = tuned.app.as_deref().and_then(Path::parent).unwrap_or_else(|| Path::new(""));
        let mut described = described.application;
        libraries::locate(&mut described, dir)?;
        let resolved = resolve(&described, &tuned.probe, &program);
        let (application, plan) = resolved.map_err(|error| explained(error, &program))?;
        let tunlets: anyhow::Result<Vec<_>> =
            tuned.tunlet.iter().map(|name| open_tunlet(name, &application)).collect();
        let tunlets = tunlets?;
        check_once(&tunlets)?;
        let (mode, options) = (mode(tuned), options(tuned));
        Ok(Some(Self { application, plan, tunlets, mode, options }))
    }

    /// The same for the server that keeps this record.
    ///
    /// `every_passage` of functions named on the command line is kept, or only their sums.
    pub(crate) fn for_record(self, record: &RunRecord, every_passage: bool) -> TuningOptions {
        let Self { application, plan, tunlets, mode, options } = self;
        let lines = record.tuning_path();
        TuningOptions { application, plan, tunlets, mode, options, every_passage, lines }
    }
}

fn not_found(name: &str) -> String {
    if name.is_empty() {
        "the command names no program in which functions could be measured".to_owned()
    } else {
        format!(
            "the description is of `{name}`, which is neither in the command nor beside the description"
        )
    }
}

fn mode(tuned: &Tuned) -> Mode {
    match () {
        () if tuned.observe || tuned.tunlet.is_empty() => Mode::Observe,
        () if tuned.dry_run => Mode::DryRun,
        () => Mode::Tune,
    }
}

fn options(tuned: &Tuned) -> Options {
    Options {
        n_window: usize::from(tuned.trial_iterations),
        action_timeout_s: tuned.action_timeout,
        ..Options::default()
    }
}

/// A description, and the text that problems are shown in.
#[derive(Default)]
struct Description {
    application: Application,
    file: String,
    text: String,
}

impl Description {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read `{file}`"))?;
        let (application, problems) = application::read(&text);
        let description = Self { application: application.unwrap_or_default(), file, text };
        description.judge(&problems)?;
        Ok(description)
    }

    /// Shows problems; an error when one of them is.
    fn judge(&self, problems: &[Problem]) -> anyhow::Result<()> {
        for problem in problems {
            eprint!("{}", problem.render(&self.file, &self.text));
        }
        let n_errors = problems.iter().filter(|problem| problem.level == Level::Error).count();
        if n_errors != 0 {
            let s = if n_errors == 1 { "" } else { "s" };
            bail!("`{}` has {n_errors} error{s}", self.file);
        }
        Ok(())
    }
}

/// Why nothing matches: a program without names, or one that is only the launcher of the one that was meant.
fn explained(error: ResolveError, program: &Program) -> anyhow::Error {
    let path = program.path().display();
    match error {
        ResolveError::NoMatch { pattern, .. }
            if program.is_stripped() && !program.has_debug_info() =>
        {
            anyhow!(
                "no function that `{path}` exports matches `{pattern}`, and it is stripped of all other names; if it \
                 is the program that is meant, compile it with `-g` and do not strip it, or put its debug file \
                 beside it; if it only starts that program, check the path of that in the command"
            )
        }
        error => error.into(),
    }
}

/// What a tunlet changes belongs to it: another one of its name would have nothing to do.
fn check_once(tunlets: &[Box<dyn Tunlet>]) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    match tunlets.iter().map(|tunlet| tunlet.spec().name).find(|name| !names.insert(name.clone())) {
        Some(name) => bail!("tunlet `{name}` is named twice; name it once"),
        None => Ok(()),
    }
}

/// The built-in tunlet of this name, or the one in the library at this path, for which the description has
/// all that it needs.
fn open_tunlet(name: &str, application: &Application) -> anyhow::Result<Box<dyn Tunlet>> {
    if let Some(tunlet) = tunlets::built_in(name) {
        rehearse(name, application)?;
        return Ok(tunlet);
    }
    let path = PathBuf::from(name);
    if !name.contains('/') && path.extension().is_none() {
        let names: Vec<String> = tunlets::built_in_specs().into_iter().map(|it| it.name).collect();
        bail!(
            "there is no tunlet `{name}`; there are {} (see `sintonia tunlets`), or name a library",
            names.join(", ")
        );
    }
    let path = std::path::absolute(&path)?;
    let own = std::env::current_exe().context("this program's own file is not known")?;
    let tunlet = ForeignTunlet::open(&path, &own)?;
    check_needs(&tunlet.spec(), application)?;
    Ok(Box::new(tunlet))
}
