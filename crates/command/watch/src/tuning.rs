//! Tuning of a run: its description, program and tunlets, all checked before the command starts.

mod description;
mod libraries;
mod options;

use crate::options::TunerOptions;
use crate::programs::Programs;
use anyhow::{Context, anyhow, bail};
use app_description::Application;
use description::Description;
use run_record::tuning::TuningMode;
use server::resolve::{Names, ResolveError, resolve};
use std::collections::BTreeSet;
use std::path::PathBuf;
use symbols::Program;
use tuner::{Plan, TuningOptions};
use tunlet_abi::ForeignTunlet;
use tunlets::Tunlet;
use tunlets::conductor::Options;
use tunlets::rehearsal::{check_needs, rehearse};

/// Description, program and tunlets with which a run is tuned.
pub(crate) struct Tuning {
    application: Application,
    pub(crate) plan: Plan,
    /// Sentence about which description was found; `None` if one was named.
    pub(crate) origin: Option<String>,
    tunlets: Vec<Box<dyn Tunlet>>,
    mode: TuningMode,
    options: Options,
}

impl Tuning {
    /// Reads and checks everything; `None` if no tuning was asked for.
    pub(crate) fn prepare(
        tuner: &TunerOptions,
        programs: &Programs,
    ) -> anyhow::Result<Option<Self>> {
        if tuner.app.is_none() && tuner.probe.is_empty() && !tuner.needs_description() {
            return Ok(None);
        }
        let (description, program) = description::choose(tuner, programs)?;
        description.check(&Names::of(&program))?;
        let Description { application: mut described, folder, origin, .. } = description;
        libraries::locate(&mut described, &folder)?;
        options::add(&mut described, &tuner.tunlet, &folder)?;
        let resolved = resolve(&described, &tuner.probe, &program);
        let (application, plan) = resolved.map_err(|error| explained(error, &program))?;
        let tunlets: anyhow::Result<Vec<_>> = tuner
            .tunlet
            .iter()
            .map(|name| open_tunlet(options::name(name), &application))
            .collect();
        let tunlets = tunlets?;
        check_once(&tunlets)?;
        let (mode, options) = (mode(tuner), trial_options(tuner));
        Ok(Some(Self { application, plan, origin, tunlets, mode, options }))
    }

    /// Options for the tuner.
    ///
    /// If `every_passage` is set, single passages of functions named on the command line are kept, else only their sums.
    pub(crate) fn into_options(self, every_passage: bool) -> TuningOptions {
        let Self { application, plan, tunlets, mode, options, origin: _ } = self;
        TuningOptions { application, plan, tunlets, mode, options, every_passage }
    }
}

fn mode(tuner: &TunerOptions) -> TuningMode {
    match () {
        () if tuner.observe || tuner.tunlet.is_empty() => TuningMode::Observe,
        () if tuner.dry_run => TuningMode::DryRun,
        () => TuningMode::Tune,
    }
}

fn trial_options(tuner: &TunerOptions) -> Options {
    Options {
        n_window: usize::from(tuner.trial_iterations),
        action_timeout_s: tuner.action_timeout,
        ..Options::default()
    }
}

/// Explains why nothing matches: the program has no names, or is only the launcher of the one that was meant.
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

/// Checks that no tunlet is named twice: points belong to one tunlet, so that the second one would have none.
fn check_once(tunlets: &[Box<dyn Tunlet>]) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    match tunlets.iter().map(|tunlet| tunlet.spec().name).find(|name| !names.insert(name.clone())) {
        Some(name) => bail!("tunlet `{name}` is named twice; name it once"),
        None => Ok(()),
    }
}

/// Opens the built-in tunlet of this name, or the one in the library at this path; checks that the description has all
/// that it needs.
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
