//! `sintonia learnt`: lists what runs with `--learn` taught, shows why, and forgets.

use crate::lesson::store::{Named, Store};
use anyhow::Context;
use clap::{Args, Subcommand};
use display::table::Table;
use display::units::{moment, percent, plural, seconds};
use learning::{Candidate, CandidateState, LearntLever, LeverVerdict, Profile, Run, Size};
use std::fmt::Write;
use std::process::ExitCode;
use user_io::exit::{NoRecord, NotWritten};
use user_io::print::{result, warn};
use user_io::terminal::Terminal;

/// Latest runs that are shown.
const N_RUNS_SHOWN: usize = 12;

const EXAMPLES: &str = "\
Examples:
  sintonia run --tune --learn -- mpirun -np 8 ./program
  sintonia learnt                                 a line for each program and size
  sintonia learnt show NAME                       why: figures, dates, runs
  sintonia learnt show NAME --rank-file > ranks   then `mpirun --rankfile ranks` (Open MPI 4)
                                                  or `--map-by rankfile:file=ranks` (5)
  sintonia learnt forget NAME
  sintonia learnt --json | jq -r '.[].name'

Profiles are in `sintonia/learnt` in `$XDG_STATE_HOME` or `~/.local/state`.
Exit codes: 0 done; 100 failed; 101 there is no such profile, or none can be read; 102 not written.";

/// Show what runs with `--learn` taught, why, or forget it
///
/// Runs of `sintonia run --learn` keep a profile for each build of a program, number of ranks, size of problem, MPI library
/// and machine: levers that helped or did not, settings of the launch that are tried from run to run, and advice. The next
/// `sintonia run --tune` begins with it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Options {
    /// Print all profiles as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    subcommand: Option<LearntSubcommand>,
}

#[derive(Debug, Subcommand)]
enum LearntSubcommand {
    Show(ShowOptions),
    Forget(ForgetOptions),
}

/// Show what one profile holds, and why
#[derive(Args, Debug)]
struct ShowOptions {
    /// Name of the profile, or its beginning
    name: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Print the better order of the ranks as a rank file of Open MPI
    #[arg(long, conflicts_with = "json")]
    rank_file: bool,
    /// Print it as one host for each rank (`mpiexec -f` of MPICH, `SLURM_HOSTFILE`)
    #[arg(long, conflicts_with_all = ["json", "rank_file"])]
    host_file: bool,
}

/// Forget what one profile holds, or all
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct ForgetOptions {
    /// Name of the profile, or its beginning
    name: Option<String>,
    /// Forget everything
    #[arg(long)]
    all: bool,
}

/// Lists, shows or forgets.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let store = Store::of_user()?;
    let known = store.read_all(false);
    known.problems.iter().for_each(|problem| warn(problem));
    match &options.subcommand {
        None if options.json => result(&json(&known.profiles)?),
        None => result(&list(&known.profiles, &store, terminal)),
        Some(LearntSubcommand::Show(options)) => {
            let named = found(&options.name, &known.profiles)?;
            result(&match () {
                () if options.json => format!("{:#}\n", serde_json::to_value(&named.profile)?),
                () if options.rank_file || options.host_file => order(named, options.rank_file)?,
                () => why(named),
            })
        }
        Some(LearntSubcommand::Forget(options)) => forget(options, &store, &known.profiles),
    }
}

fn json(profiles: &[Named]) -> anyhow::Result<String> {
    let with_name = |named: &Named| {
        let mut value = serde_json::to_value(&named.profile)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("name".to_owned(), named.name.clone().into());
        }
        anyhow::Ok(value)
    };
    let all: Vec<_> = profiles.iter().map(with_name).collect::<anyhow::Result<_>>()?;
    Ok(format!("{:#}\n", serde_json::Value::from(all)))
}

fn list(profiles: &[Named], store: &Store, terminal: Terminal) -> String {
    if profiles.is_empty() {
        let folder = store.folder().display();
        return format!(
            "nothing is learnt in `{folder}`; `sintonia run --tune --learn -- COMMAND` begins it\n"
        );
    }
    let style = terminal.stdout_style();
    let table = Table::new(profiles)
        .left("NAME", |it| it.name.as_str())
        .right("RANKS", |it| it.profile.key.n_ranks.to_string())
        .right("TIME", |it| it.profile.typical_s().map_or("-".to_owned(), seconds))
        .right("RUNS", |it| it.profile.n_runs.to_string())
        .left("LAST", |it| it.profile.runs.last().map_or(String::new(), date))
        .name("BEGINS WITH", |it| or_dash(&first(&it.profile)))
        .name("TRIES", |it| or_dash(&tried(&it.profile)));
    table.lines(style.width, style.color).iter().map(|line| format!("{line}\n")).collect()
}

/// Date of a run.
fn date(run: &Run) -> String {
    let moment = moment(run.started_s);
    moment.split(' ').next().unwrap_or_default().to_owned()
}

fn or_dash(names: &[&str]) -> String {
    if names.is_empty() { "-".to_owned() } else { names.join(", ") }
}

/// Names of what the next run begins with.
fn first(profile: &Profile) -> Vec<&str> {
    let is_first = |lever: &&LearntLever| lever.is_for_start && lever.verdict == LeverVerdict::Kept;
    let levers = profile.levers.iter().filter(is_first).map(|lever| lever.name.as_str());
    levers.chain(profile.kept()).collect()
}

/// Names of the settings on trial.
fn tried(profile: &Profile) -> Vec<&str> {
    let open = profile.candidates.iter().filter(|it| it.state == CandidateState::Trying);
    open.map(|it| it.setting.name.as_str()).collect()
}

/// Finds the profile of this name, or the only one whose name begins so.
fn found<'a>(name: &str, profiles: &'a [Named]) -> anyhow::Result<&'a Named> {
    if let Some(exact) = profiles.iter().find(|named| named.name == name) {
        return Ok(exact);
    }
    let mut alike = profiles.iter().filter(|named| named.name.starts_with(name));
    match (alike.next(), alike.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => {
            let why = format!("there is no profile `{name}`; `sintonia learnt` lists all");
            Err(NoRecord.because(why).into())
        }
        (Some(one), Some(other)) => {
            let why =
                format!("`{name}` may mean `{}` or `{}`; write more of it", one.name, other.name);
            Err(NoRecord.because(why).into())
        }
    }
}

fn order(named: &Named, is_rank_file: bool) -> anyhow::Result<String> {
    let order = named.profile.rank_order.as_ref().with_context(|| {
        format!("for `{}` no order of ranks is known that saves traffic between nodes", named.name)
    })?;
    Ok(if is_rank_file { order.rank_file() } else { order.host_file() })
}

fn forget(options: &ForgetOptions, store: &Store, known: &[Named]) -> anyhow::Result<ExitCode> {
    let names: Vec<&str> = match &options.name {
        Some(name) => vec![&found(name, known)?.name],
        None => known.iter().map(|named| named.name.as_str()).collect(),
    };
    if !names.is_empty() {
        let _lock = store.lock().context(NotWritten)?;
        names.iter().try_for_each(|name| store.remove(name)).context(NotWritten)?;
    }
    result(&format!("forgot {}\n", plural(names.len() as u64, "profile")))
}

/// Everything that a profile holds, in words.
fn why(named: &Named) -> String {
    let Named { name, profile } = named;
    let key = &profile.key;
    let mut text = format!("{name}\n");
    let machine =
        format!("{}, {}", key.machine.processor, plural(key.machine.n_cores as u64, "core"));
    let size = match &key.size {
        Size::Iteration(_) => format!("iterations of about {}", key.size.name()),
        Size::Whole(_) => "no iterations: whole runs of one command line".to_owned(),
    };
    let ranks = plural(key.n_ranks as u64, "rank");
    let nodes = plural(key.n_nodes as u64, "node");
    for (title, value) in [
        ("program", format!("{} (build {})", key.program, key.build)),
        ("launcher", key.launcher.clone()),
        ("ranks", format!("{ranks} on {nodes}")),
        ("size", size),
        ("MPI", key.mpi.clone()),
        ("machine", machine),
        ("runs", profile.n_runs.to_string()),
    ] {
        line(&mut text, &format!("  {title:<9} {value}"));
    }
    section(&mut text, "Levers", profile.levers.iter().map(about_lever));
    section(&mut text, "Settings of the launch", profile.candidates.iter().map(about_candidate));
    section(&mut text, "Advice", profile.advice.iter().map(|text| text.replace("NAME", name)));
    let n_left_out = profile.runs.len().saturating_sub(N_RUNS_SHOWN);
    section(&mut text, "Latest runs", profile.runs.iter().skip(n_left_out).map(about_run));
    text
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        text.push('\n');
        line(text, title);
        lines.for_each(|it| line(text, &format!("  {it}")));
    }
}

fn line(text: &mut String, line: &str) {
    // Names and command lines are the user's.
    writeln!(text, "{}", display::text::harmless(line)).expect("a string takes all text");
}

fn about_lever(lever: &LearntLever) -> String {
    let state = match lever.verdict {
        LeverVerdict::Kept if lever.is_for_start => "set from the start",
        LeverVerdict::Kept => "helped",
        LeverVerdict::Failed => "tried late",
    };
    let (with_s, without_s) = (seconds(lever.with_s), seconds(lever.without_s));
    let (gain, noise) = (gain(lever.gain()), percent(lever.noise));
    let again = match lever.n_trials {
        ..2 => String::new(),
        n => format!(", confirmed {} since", plural(n - 1, "time")),
    };
    format!(
        "{}: {state}; an iteration took {with_s} with it and {without_s} without, {gain} (noise {noise}), in run {} on \
         {}{again}",
        lever.name,
        lever.run,
        moment(lever.at_s)
    )
}

fn gain(share: f64) -> String {
    if share < 0.0 {
        format!("{} slower", percent(-share))
    } else {
        format!("{} faster", percent(share))
    }
}

fn about_candidate(candidate: &Candidate) -> String {
    let Candidate { setting, state, run, at_s, figures, why } = candidate;
    let variables = crate::lesson::in_words(setting);
    let at = moment(*at_s);
    let state = match state {
        CandidateState::Trying => format!("is tried since run {run} on {at}"),
        CandidateState::Kept => format!("is kept since run {run} on {at}"),
        CandidateState::Dropped => format!("was dropped in run {run} on {at}"),
    };
    let so_far = figures.filter(|_| why.is_empty()).map(|it| {
        let (with_s, without_s) = (seconds(it.with_s), seconds(it.without_s));
        format!(
            "; so far {with_s} in {} with it and {without_s} in {} without",
            it.n_with, it.n_without
        )
    });
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    format!(
        "{} ({variables}) {state}{why}{}; reason: {}",
        setting.name,
        so_far.unwrap_or_default(),
        setting.reason
    )
}

fn about_run(run: &Run) -> String {
    let time = run.iteration_s.map_or("-".to_owned(), seconds);
    let settings = if run.settings.is_empty() { "-".to_owned() } else { run.settings.join(",") };
    let tune = if run.tune.is_empty() { "-" } else { &run.tune };
    format!(
        "{:>3}  {}  iteration {time}, elapsed {}, tune {tune}, settings {settings}, {}  {}",
        run.number,
        moment(run.started_s),
        seconds(run.elapsed_s),
        run.end,
        run.command
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Named {
        Named { name: name.to_owned(), profile: Profile::default() }
    }

    #[test]
    fn the_beginning_of_a_name_is_enough_if_it_means_one() {
        let known = [named("cg-4-2ms-a"), named("cg-4-2ms-b"), named("cg-4")];
        assert_eq!(found("cg-4-2ms-a", &known).unwrap().name, "cg-4-2ms-a");
        assert_eq!(found("cg-4", &known).unwrap().name, "cg-4");
        assert!(found("cg-4-", &known).unwrap_err().to_string().contains("may mean"));
        assert!(found("x", &known).unwrap_err().to_string().contains("no profile `x`"));
    }

    #[test]
    fn a_profile_tells_why() {
        let run = Run { command: "mpirun \u{1b}[2J".to_owned(), number: 1, ..Run::default() };
        let lever = LearntLever {
            name: "memory".to_owned(),
            verdict: LeverVerdict::Kept,
            is_for_start: true,
            with_s: 0.5,
            without_s: 1.0,
            noise: 0.03,
            run: 1,
            at_s: 0.0,
            n_trials: 1,
        };
        let (runs, levers) = (vec![run], vec![lever]);
        let advice = vec!["look at `sintonia learnt show NAME`".to_owned()];
        let profile = Profile { runs, levers, advice, ..Profile::default() };
        let text = why(&Named { name: "p".to_owned(), profile });
        assert!(
            text.contains(
                "memory: set from the start; an iteration took 500 ms with it and 1.00 s"
            )
        );
        assert!(text.contains("50.0 % faster (noise 3.0 %)"), "{text}");
        assert!(text.contains("show p`") && !text.contains('\u{1b}'), "{text}");
    }
}
