//! What a run is tuned with: description, program and tunlets, all checked before the command starts.

mod libraries;

use crate::arguments::Tuned;
use analyzer::TuningOptions;
use analyzer::tuning::Plan;
use analyzer::tuning::resolve::{Names, resolve};
use anyhow::{Context, bail};
use application::{Application, Level, Problem};
use run_record::RunRecord;
use std::path::{Path, PathBuf};
use symbols::Program;
use tunlet_abi::ForeignTunlet;
use tunlets::Tunlet;
use tunlets::conductor::{Mode, Options};

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
        let (application, plan) = resolve(&described, &tuned.probe, &program)?;
        let tunlets: anyhow::Result<Vec<_>> =
            tuned.tunlet.iter().map(|name| open_tunlet(name)).collect();
        let (tunlets, mode, options) = (tunlets?, mode(tuned), options(tuned));
        Ok(Some(Self { application, plan, tunlets, mode, options }))
    }

    /// The same for the server that keeps this record.
    pub(crate) fn for_record(self, record: &RunRecord) -> TuningOptions {
        let Self { application, plan, tunlets, mode, options } = self;
        let lines = record.tuning_path();
        TuningOptions { application, plan, tunlets, mode, options, lines }
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
            bail!("`{}` has {n_errors} errors", self.file);
        }
        Ok(())
    }
}

/// The built-in tunlet of this name, or the one in the library at this path.
fn open_tunlet(name: &str) -> anyhow::Result<Box<dyn Tunlet>> {
    if let Some(tunlet) = tunlets::built_in(name) {
        return Ok(tunlet);
    }
    let path = PathBuf::from(name);
    if !name.contains('/') && path.extension().is_none() {
        let names: Vec<String> = tunlets::built_in_specs().into_iter().map(|it| it.name).collect();
        bail!("there is no tunlet `{name}`; there are {}, or name a library", names.join(", "));
    }
    let path = std::path::absolute(&path)?;
    let own = std::env::current_exe().context("this program's own file is not known")?;
    let tunlet = ForeignTunlet::open(&path, &own)?;
    Ok(Box::new(tunlet))
}
