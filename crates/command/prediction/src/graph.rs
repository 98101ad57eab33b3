//! `sintonia graph`: draws what a program does, from its sources, a run, or both.
//!
//! # Not here
//! Reading C and C++, and drawing: crate `program-graph`.

use anyhow::{Context, bail, ensure};
use clap::Args;
use program_graph::{
    Graph, GraphNode, GraphNodeKind, RecordedRun, RecordedSite, Role, Segment, SourceLocation, View,
};
use run_record::summary::{CallSite, Summary};
use run_record::{RegionRow, RunRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use user_io::bounded_read;
use user_io::exit::bad_option;
use user_io::option_value::one_of;
use user_io::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  sintonia graph matmul.c                        writes matmul.svg
  sintonia graph src/*.c -o program.svg          headers that are included with quotes are found
  sintonia graph src/ --view regions -o -        regions, forks and joins only, on standard output
  sintonia graph RUN                             from the record of `sintonia run`
  sintonia graph src/ --overlay RUN              with counts, times and shares of branches
  sintonia graph src/ --json | jq '.nodes[] | select(.kind == \"loop\") | {file, line, count}'

A lane for each role, ranks that do the same. Solid outlines block, dashed ones do not; what
sends points to the right, what receives has a notch on its left. Numbers I, II, ... are regions:
an MPI operation, or the computation between two of them. A click shows regions only.

Compile with `-g` so that a run knows the lines of its calls, which `--overlay` needs.";

/// Number of warnings that are printed; further ones are counted.
const N_WARNINGS_MAX: usize = 20;

/// Draw what a program does: roles, loops, branches, MPI operations
///
/// Reads sources in C and C++ as they are, with macros, `#if` and errors, and follows the program from `main`: code
/// that depends on the rank becomes roles, and counts, peers and sizes are given in the names of the program. What is
/// not understood is reported with its place; the rest is drawn.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Sources, or a folder with them and with folders of them; or the folder of a recorded run
    #[arg(required = true, value_name = "SOURCE|RUN")]
    inputs: Vec<PathBuf>,
    /// Show the measurements of this run on the graph of the sources
    #[arg(long, value_name = "RUN")]
    overlay: Option<PathBuf>,
    /// File to write, `-` for standard output; by default the name of the first source with `.svg`
    #[arg(long, short, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// View that is shown before a click
    #[arg(long, default_value = "full", value_parser = one_of(&VIEWS))]
    view: View,
    /// Print the graph as JSON; a picture is written only with `--output`
    #[arg(long)]
    json: bool,
}

/// Views that may be shown first.
const VIEWS: [(&str, &str, View); 2] = [
    ("full", "Every operation, loop, branch and function", View::Full),
    ("regions", "Regions, forks and joins", View::Regions),
];

/// Draws a program.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let graph = read(options)?;
    let warnings = graph.warnings.iter();
    warnings.take(N_WARNINGS_MAX).for_each(|warning| eprintln!("sintonia: {warning}"));
    if N_WARNINGS_MAX < graph.warnings.len() {
        eprintln!("sintonia: and {} more", graph.warnings.len() - N_WARNINGS_MAX);
    }
    if options.json {
        user_io::print::result(&format!("{:#}\n", program_graph::json(&graph)))?;
    }
    if options.output.is_some() || !options.json {
        write(options, &graph)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the graph from sources, or from a folder with them.
pub(crate) fn of_sources(inputs: &[PathBuf]) -> anyhow::Result<Graph> {
    let files = read_sources(inputs)?;
    let texts: Vec<program_graph::SourceFile<'_>> =
        files.iter().map(|(name, text)| program_graph::SourceFile { name, text }).collect();
    Ok(program_graph::read(&texts)?)
}

fn read(options: &Options) -> anyhow::Result<Graph> {
    let run = match options.inputs.as_slice() {
        [folder] if folder.join("run.json").is_file() => Some(folder),
        _ => None,
    };
    match (run, &options.overlay) {
        (Some(_), Some(_)) => Err(bad_option("`--overlay` needs sources, and a run is given")),
        (Some(run), None) => {
            let graph = program_graph::from_run(&read_run(run)?);
            if graph.roles.is_empty() {
                bail!("`{}` has no call of MPI: nothing was measured in it", run.display());
            }
            Ok(graph)
        }
        (None, overlay) => {
            let graph = of_sources(&options.inputs)?;
            match overlay {
                Some(run) => Ok(program_graph::overlay(&graph, &read_run(run)?)),
                None => Ok(graph),
            }
        }
    }
}

fn write(options: &Options, graph: &Graph) -> anyhow::Result<()> {
    let name = name(&options.inputs);
    let text = program_graph::draw(graph, &name, options.view);
    let to = options.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.svg")));
    if to == Path::new("-") {
        return user_io::print::result(&text).map(drop);
    }
    user_io::result_file::write(&to, &text)?;
    let roles: Vec<String> = graph.roles.iter().map(role_sentence).collect();
    eprintln!("sintonia: `{}` shows {}", to.display(), roles.join(", "));
    Ok(())
}

/// Title of the picture: the first source or folder, without its extension.
fn name(inputs: &[PathBuf]) -> String {
    let first = inputs.first().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
    let first = first.unwrap_or_default();
    let is_src = first.file_name().is_some_and(|name| name == "src");
    let named = if is_src { first.parent().unwrap_or(&first) } else { &first };
    let stem = if named.is_dir() { named.file_name() } else { named.file_stem() };
    stem.map_or_else(|| "graph".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Sentence about a role: `master with 8 regions`.
fn role_sentence(role: &Role) -> String {
    fn highest(nodes: &[GraphNode]) -> u32 {
        let of = |node: &GraphNode| {
            let inner = node.bodies().into_iter().map(highest).max().unwrap_or_default();
            node.region.unwrap_or_default().max(inner)
        };
        let is_jump = |node: &&GraphNode| matches!(node.kind, GraphNodeKind::Jump(_));
        nodes.iter().filter(|node| !is_jump(node)).map(of).max().unwrap_or_default()
    }
    format!("{} with {}", role.name, display::units::plural(highest(&role.body), "region"))
}

/// Extensions of C and C++ sources.
const ENDINGS: [&str; 8] = ["c", "cc", "cpp", "cxx", "C", "c++", "cu", "hip"];
/// Extensions of headers, which belong to a program where they are in a folder that is given.
const HEADER_ENDINGS: [&str; 6] = ["h", "hh", "hpp", "hxx", "H", "cuh"];
/// Most files; further headers that are only included are left out.
const N_FILES_MAX: usize = 2000;

/// Reads names and texts in the order given, headers last.
fn read_sources(inputs: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    let mut left: Vec<PathBuf> = Vec::new();
    for input in inputs {
        if input.is_dir() {
            left.extend(of_folder(input)?);
        } else {
            left.push(input.clone());
        }
    }
    let n_named = left.len();
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    let mut at = 0;
    while let Some(path) = left.get(at).cloned() {
        let is_named = at < n_named;
        at += 1;
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        let bytes = match bounded_read::read(&path, bounded_read::WRITTEN_BYTES_MAX) {
            Err(_) if !is_named => continue,
            read => read.with_context(|| format!("`{}` cannot be read", path.display()))?,
        };
        let text = bounded_read::text(&bytes);
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
        if left.len() < N_FILES_MAX {
            left.extend(included(&text, &path));
        }
        files.push((path.display().to_string(), text));
    }
    Ok(files)
}

/// Sources in a folder and the folders in it, sorted by path, headers last.
fn of_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut left = vec![folder.to_owned()];
    let (mut sources, mut headers) = (Vec::new(), Vec::new());
    while let Some(folder) = left.pop() {
        let name = || format!("`{}` cannot be read", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(name)? {
            let entry = entry.with_context(name)?;
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            // A link to a folder may lead back to it.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.extend((!is_hidden).then_some(path));
            } else if ENDINGS.contains(&ending) && path.is_file() {
                sources.push(path);
            } else if HEADER_ENDINGS.contains(&ending) && path.is_file() {
                headers.push(path);
            }
        }
        let n_files = sources.len() + headers.len();
        ensure!(
            n_files <= N_FILES_MAX && left.len() <= N_FILES_MAX,
            "`{}` has more than {N_FILES_MAX} files: give the folders of one program",
            folder.display()
        );
    }
    if sources.is_empty() {
        bail!(
            "`{}` has neither a source in C or C++ nor a recorded run: give sources, or the folder that \
             `sintonia run` named",
            folder.display()
        );
    }
    sources.sort();
    headers.sort();
    sources.append(&mut headers);
    Ok(sources)
}

/// Headers beside a source that it includes.
fn included(text: &str, of: &Path) -> Vec<PathBuf> {
    let folder = of.parent().unwrap_or(Path::new(""));
    let names = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    });
    names.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}

/// Reads the call sites of a run, and how they follow each other, in the world with most ranks.
fn read_run(folder: &Path) -> anyhow::Result<RecordedRun> {
    let record = RunRecord::open(folder)?;
    let summary = record.read_summary()?;
    let unreadable = || format!("the regions of `{}` cannot be read", folder.display());
    let mut rows = record.read_regions().with_context(unreadable)?;
    let world = largest(&summary);
    rows.retain(|row| row.world == world);
    let n_ranks = summary.worlds.get(world as usize).map_or(0, |world| world.n_ranks);
    let sites = summary.call_sites.iter().filter_map(site).collect();
    Ok(RecordedRun { n_ranks, sites, segments: segments(&rows) })
}

fn largest(summary: &Summary) -> u32 {
    let worlds = (0_u32..).zip(&summary.worlds);
    let largest = worlds.max_by_key(|(at, world)| (world.n_ranks, std::cmp::Reverse(*at)));
    largest.map_or(0, |(at, _)| at)
}

fn site(site: &CallSite) -> Option<RecordedSite> {
    let location = SourceLocation {
        file: site.place.file.clone(),
        line: site.place.line,
        end_line: site.place.line,
        function: site.place.function.clone(),
    };
    let id = u32::try_from(site.id).ok()?;
    Some(RecordedSite { id, operation: site.operation.clone(), location })
}

/// Segments of each rank, with its threads added up.
fn segments(rows: &[RegionRow]) -> Vec<Segment> {
    let mut all: BTreeMap<(u32, Option<u32>, u32), Segment> = BTreeMap::new();
    for row in rows {
        let Some(to) = row.call_site else { continue };
        let from = row.from_call_site;
        let new = Segment { rank: row.rank, from, to, ..Segment::default() };
        let segment = all.entry((row.rank, from, to)).or_insert(new);
        segment.calls += row.calls;
        segment.compute_s += row.compute_s;
        segment.mpi_s += row.mpi_s;
        segment.bytes += row.bytes;
    }
    all.into_values().collect()
}
