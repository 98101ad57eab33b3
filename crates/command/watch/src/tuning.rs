//! Tuning of a run: its description, program and tunlets, all checked before the command starts.

mod description;

use crate::levers;
use crate::options::TunerOptions;
use crate::programs::Programs;
use anyhow::{Context, anyhow, bail, ensure};
use app_description::{Application, ChangeKind};
use description::Description;
use run_record::tuning::TuningMode;
use server::resolve::{Names, ResolveError, resolve};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use symbols::Program;
use tuner::{TuningOptions, TuningPlan};
use tunlet_abi::ForeignTunlet;
use tunlets::Tunlet;
use tunlets::conductor::Options;
use tunlets::rehearsal::{check_needs, rehearse};
use user_io::bounded_read;

/// Description, program and tunlets with which a run is tuned.
pub(crate) struct Tuning {
    application: Application,
    pub(crate) plan: TuningPlan,
    /// Sentence about which description was found; `None` if one was named.
    pub(crate) origin: Option<String>,
    /// True if something of the program is described or probed.
    pub(crate) is_described: bool,
    tunlets: Vec<Box<dyn Tunlet>>,
    mode: TuningMode,
    options: Options,
    /// True if iterations are looked for also where nothing is tuned.
    seeks_iterations: bool,
}

impl Tuning {
    /// Reads and checks everything; `None` if no tuning was asked for, nor that iterations be looked for.
    pub(crate) fn prepare(
        tuner: &TunerOptions,
        programs: &Programs,
        seeks_iterations: bool,
    ) -> anyhow::Result<Option<Self>> {
        let needs_program =
            tuner.app.is_some() || !tuner.probe.is_empty() || tuner.needs_description();
        if !needs_program && tuner.levers.tune.is_empty() && !seeks_iterations {
            return Ok(None);
        }
        let described = needs_program.then(|| Described::prepare(tuner, programs)).transpose()?;
        let Described { mut application, mut plan, origin } = described.unwrap_or_default();
        if !tuner.levers.tune.is_empty() {
            let taken = application.add_levers(&levers::levers(&tuner.levers));
            if let Some(name) = taken.first().map(|lever| lever.name()) {
                bail!("the description has a tuning point `{name}`, as `--tune` has; rename it");
            }
            plan.add_levers(&application);
        }
        let tunlets: anyhow::Result<Vec<_>> =
            tuner.tunlet.iter().map(|name| open_tunlet(name_of(name), &application)).collect();
        let mut tunlets = tunlets?;
        tunlets.extend(levers::tunlets(&tuner.levers));
        check_once(&tunlets)?;
        let mode = match () {
            () if tuner.observe || tunlets.is_empty() => TuningMode::Observe,
            () if tuner.dry_run => TuningMode::DryRun,
            () => TuningMode::Tune,
        };
        let (n_window, action_timeout_s) = (tuner.trial_iterations.into(), tuner.action_timeout);
        let options = Options { n_window, action_timeout_s, ..Options::default() };
        Ok(Some(Self {
            application,
            plan,
            origin,
            is_described: needs_program,
            tunlets,
            mode,
            options,
            seeks_iterations,
        }))
    }

    /// Begins with what earlier runs taught about levers.
    pub(crate) fn taught(mut self, first: &[String], late: &[String]) -> Self {
        self.application.teach_levers(first, late);
        self
    }

    /// Options for the tuner.
    ///
    /// If `every_passage` is set, single passages of functions named on the command line are kept, else only their sums.
    pub(crate) fn into_options(self, every_passage: bool) -> TuningOptions {
        let Self { application, plan, tunlets, mode, options, seeks_iterations, .. } = self;
        let seeks_iterations =
            seeks_iterations || mode != TuningMode::Observe && !tunlets.is_empty();
        TuningOptions { application, plan, tunlets, mode, options, seeks_iterations, every_passage }
    }
}

/// Description with its names resolved.
#[derive(Default)]
struct Described {
    application: Application,
    plan: TuningPlan,
    origin: Option<String>,
}

impl Described {
    /// Reads, checks and resolves the description that is asked for.
    fn prepare(tuner: &TunerOptions, programs: &Programs) -> anyhow::Result<Self> {
        let (description, program) = description::choose(tuner, programs)?;
        description.check(&Names::of(&program))?;
        let Description { application: mut described, folder, origin, .. } = description;
        locate(&mut described, &folder)?;
        add_options(&mut described, &tuner.tunlet, &folder)?;
        let resolved = resolve(&described, &tuner.probe, &program);
        let (application, plan) = resolved.map_err(|error| explained(error, &program))?;
        Ok(Self { application, plan, origin })
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
    for name in tunlets.iter().map(|tunlet| tunlet.spec().name) {
        ensure!(names.insert(name.clone()), "tunlet `{name}` is named twice; name it once");
    }
    Ok(())
}

/// Opens the built-in tunlet of this name, or the one in the library at this path; checks that the description has all
/// that it needs.
fn open_tunlet(name: &str, application: &Application) -> anyhow::Result<Box<dyn Tunlet>> {
    ensure!(
        !levers::is_of_levers(name),
        "`{name}` needs no description; use `--tune={name}` instead of `--tunlet {name}`"
    );
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

/// Makes the paths of libraries absolute; relative ones are looked for beside the description, in `dir`.
fn locate(application: &mut Application, dir: &Path) -> anyhow::Result<()> {
    for point in &mut application.tuning_points {
        match &mut point.change {
            ChangeKind::Load(path) => *path = located(path, dir, &point.name)?,
            ChangeKind::Replace { by, .. } => {
                let Some((library, name)) = ChangeKind::library_of(by) else { continue };
                *by = format!("{}:{name}", located(library, dir, &point.name)?);
            }
            ChangeKind::Variable(_) | ChangeKind::Call(_) | ChangeKind::Lever(_) => {}
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

/// Option that names a file of models, whose text the tunlet gets.
const MODEL: &str = "model";

/// Name of a tunlet in an argument of `--tunlet`, without the options.
fn name_of(written: &str) -> &str {
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
fn add_options(
    application: &mut Application,
    written: &[String],
    dir: &Path,
) -> anyhow::Result<()> {
    for options in application.tunlet_options.values_mut() {
        if let Some(model) = options.get_mut(MODEL) {
            *model = read_model(&dir.join(&*model))?;
        }
    }
    for written in written {
        let name = name_of(written);
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
            let value = if key == MODEL { read_model(Path::new(value))? } else { value.to_owned() };
            its.insert(key.to_owned(), value);
        }
    }
    Ok(())
}

fn read_model(path: &Path) -> anyhow::Result<String> {
    let read = bounded_read::read_text(path, bounded_read::MEASURED_BYTES_MAX);
    let shown = path.display();
    read.with_context(|| {
        format!("cannot read the models in `{shown}`; write them with `sintonia fit -o`")
    })
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
        let shown = |text: String| text.replace(&dir, "DIR");
        let found = found.map(shown).map_err(shown);
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

    #[track_caller]
    fn check_added(written: &str, expected: Result<&[(&str, &str)], &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m.json");
        std::fs::write(&path, "models").expect("written");
        let mut application = Application::default();
        let own = [("model".to_owned(), "m.json".to_owned())].into();
        application.tunlet_options.insert("search".to_owned(), own);
        let written = written.replace("M.json", &path.display().to_string());
        let added = add_options(&mut application, &[written], folder.path());
        assert_eq!(application.tunlet_options["search"]["model"], "models");
        match expected {
            Err(part) => assert!(format!("{:#}", added.unwrap_err()).contains(part)),
            Ok(options) => {
                added.unwrap();
                let its = application.tunlet_options.get("worker-count").into_iter().flatten();
                let its = its.map(|(key, value)| (key.as_str(), value.as_str()));
                assert_eq!(its.collect::<Vec<_>>(), options);
            }
        }
    }

    #[test]
    fn options_stand_behind_a_name() {
        check_added("worker-count", Ok(&[]));
        check_added("worker-count:gain=5,window=2", Ok(&[("gain", "5"), ("window", "2")]));
        check_added("worker-count:model=M.json", Ok(&[("model", "models")]));
        check_added("./a:b.so", Ok(&[]));
        check_added("worker-count:model=none.json", Err("cannot read the models in `none.json`"));
        check_added("worker-count:gain=5,x", Err("`x` is not an option"));
        check_added("lib.so:gain=5", Err("built-in tunlets only"));
    }

    #[test]
    fn names_are_without_options() {
        assert_eq!(name_of("worker-count:model=a.json"), "worker-count");
        assert_eq!(name_of("a:b.so"), "a:b.so");
    }
}
