//! What the record of a run says of the ranks of one program.

use anyhow::{Context, ensure};
use events::SourceLocation;
use run_record::{RegionRow, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use symbols::Program;

/// Least number of calls that are made in a loop.
const N_LOOP_MIN: u64 = 8;

/// MPI call of the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(crate) operation: String,
    pub(crate) place: SourceLocation,
    pub(crate) is_collective: bool,
}

/// Function with its part of the computing.
#[derive(Clone, Debug)]
pub(crate) struct Sampled {
    pub(crate) name: String,
    /// Share of the computing in the function and all that it calls, 0 to 1.
    pub(crate) share: f64,
    /// Share of the computing in the function itself, 0 to 1.
    pub(crate) own_share: f64,
    /// Ranks on which it was sampled itself.
    pub(crate) ranks: BTreeSet<u32>,
}

/// Pair of MPI calls in one thread of a rank, with the computation between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub(crate) site: u32,
    pub(crate) calls: u64,
    pub(crate) time_s: f64,
    pub(crate) mpi_s: f64,
}

/// Evidence of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) program: String,
    pub(crate) command: String,
    pub(crate) elapsed_s: f64,
    pub(crate) sites: BTreeMap<u32, Site>,
    /// Number of calls by rank and site.
    pub(crate) calls: BTreeMap<(u32, u32), u64>,
    /// Steps of the lowest rank, in its thread with most calls.
    pub(crate) steps: Vec<Step>,
    pub(crate) sampled: Vec<Sampled>,
    /// Reason why there are no samples, if that is known.
    pub(crate) no_samples: Option<String>,
    /// Most calls of a function by one rank, by its name with parameters (`--probe`).
    pub(crate) counted: BTreeMap<String, u64>,
    /// What the tuner took for an iteration.
    pub(crate) iteration_source: Option<String>,
    /// Sentences about OpenMP regions.
    pub(crate) openmp: Vec<String>,
}

impl Evidence {
    /// Collects what concerns the first world of the program.
    ///
    /// # Errors
    /// If the record is of another program.
    pub(crate) fn of(
        summary: &Summary,
        regions: &[RegionRow],
        program: &Program,
    ) -> anyhow::Result<Self> {
        let path = program.path().canonicalize().unwrap_or_else(|_| program.path().to_owned());
        let name = path.file_name().context("the program has no name")?.to_string_lossy();
        let is_it = |ran: &str| Path::new(ran).file_name().is_some_and(|file| *file == *name);
        let world = summary.worlds.iter().position(|world| is_it(&world.program));
        let ran: Vec<&str> = summary.worlds.iter().map(|world| world.program.as_str()).collect();
        ensure!(!ran.is_empty(), "no rank called MPI in this run, so that nothing is known of it");
        let world = world.with_context(|| {
            format!("the record is of `{}`, not of `{}`", ran.join("`, `"), path.display())
        })?;
        let rows: Vec<&RegionRow> =
            regions.iter().filter(|row| usize::try_from(row.world) == Ok(world)).collect();
        let mut evidence = Self {
            program: name.into_owned(),
            command: summary.command.join(" "),
            elapsed_s: summary.worlds[world].elapsed_s,
            iteration_source: summary.tuning.as_ref().and_then(|it| it.iteration_source.clone()),
            openmp: summary.openmp_regions.iter().map(openmp_sentence).collect(),
            ..Self::default()
        };
        evidence.add_sites(summary);
        evidence.add_calls(&rows);
        evidence.add_functions(summary, world);
        Ok(evidence)
    }

    fn add_sites(&mut self, summary: &Summary) {
        for site in &summary.call_sites {
            let class = summary.operations.get(&site.operation).map(|it| it.class.as_str());
            let is_collective = class == Some("collective");
            let (operation, place) = (site.operation.clone(), site.place.clone());
            if let Ok(id) = u32::try_from(site.id) {
                self.sites.insert(id, Site { operation, place, is_collective });
            }
        }
    }

    fn add_calls(&mut self, rows: &[&RegionRow]) {
        for row in rows {
            if let Some(site) = row.call_site {
                *self.calls.entry((row.rank, site)).or_default() += row.calls;
            }
        }
        let Some(lowest) = rows.iter().map(|row| row.rank).min() else { return };
        let mut by_thread: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.rank == lowest) {
            let Some(site) = row.call_site else { continue };
            let (calls, mpi_s) = (row.calls, row.mpi_s);
            let step = Step { site, calls, time_s: row.compute_s + mpi_s, mpi_s };
            by_thread.entry(row.thread).or_default().push(step);
        }
        let n_calls = |steps: &Vec<Step>| steps.iter().map(|step| step.calls).sum::<u64>();
        self.steps = by_thread.into_values().max_by_key(n_calls).unwrap_or_default();
    }

    fn add_functions(&mut self, summary: &Summary, world: usize) {
        let rank_of = |position: usize| summary.ranks.get(position).filter(|it| it.world == world);
        for function in &summary.functions {
            let by_rank = function.by_rank.iter().filter(|(at, _)| rank_of(*at).is_some());
            let most = by_rank.map(|(_, times)| times.calls).max().unwrap_or(function.total.calls);
            self.counted.insert(function.place.function.clone(), most);
        }
        let Some(sampling) = &summary.sampling else { return };
        let all_s = sampling.computing_s;
        if !sampling.problem.is_empty() {
            self.no_samples = Some(sampling.problem.clone());
        }
        for function in sampling.functions.iter().filter(|_| 0.0 < all_s) {
            let by_rank = function.self_by_rank_s.iter().enumerate();
            let sampled = by_rank.filter(|(_, time_s)| 0.0 < **time_s);
            self.sampled.push(Sampled {
                name: function.place.function.clone(),
                share: function.total_s / all_s,
                own_share: function.self_s / all_s,
                ranks: sampled.filter_map(|(at, _)| Some(rank_of(at)?.rank)).collect(),
            });
        }
    }

    /// Returns the sites that each rank calls, by rank.
    pub(crate) fn sites_of_ranks(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut sites: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (rank, site) in self.calls.keys() {
            let operation = self.sites.get(site).map_or("", |site| site.operation.as_str());
            let own = sites.entry(*rank).or_default();
            if !["MPI_Init", "MPI_Init_thread", "MPI_Finalize"].contains(&operation) {
                own.insert(*site);
            }
        }
        sites
    }

    /// Returns the calls of one rank at the site in a function that it passes least often in a loop, and the ranks that make
    /// calls in it.
    pub(crate) fn calls_in(&self, function: &str) -> Option<(u64, BTreeSet<u32>)> {
        let inside = self.calls.iter().filter(|((_, site), _)| {
            self.sites.get(site).is_some_and(|site| site.place.function == function)
        });
        let mut most: BTreeMap<u32, u64> = BTreeMap::new();
        let mut ranks = BTreeSet::new();
        for ((rank, site), calls) in inside {
            let at_site = most.entry(*site).or_default();
            *at_site = (*at_site).max(*calls);
            ranks.insert(*rank);
        }
        let in_loop = most.values().filter(|calls| N_LOOP_MIN <= **calls).min();
        let calls = in_loop.or(most.values().max()).copied()?;
        Some((calls, ranks))
    }
}

fn openmp_sentence(region: &run_record::summary::OpenMpRegion) -> String {
    let place = &region.place;
    let file = place.file.rsplit('/').next().unwrap_or_default();
    format!(
        "OpenMP region in `{}` ({file}:{}): {} executions by up to {} threads",
        place.function, place.line, region.executions, region.threads
    )
}
