//! Tables of a run, the same for terminal and page: a table is one entry of [`all`], a column one line of its table.

mod delays;
mod files;
mod processors;
mod sampled;

use crate::efficiency::grade;
use crate::functions::{notes, short_names, slowest, time};
use crate::svg::spark;
use crate::{place, ranking};
use display::ink::Tone;
use display::table::{Align, Cell, Table};
use display::text::{harmless, shorten};
use run_record::summary::{OpenMpRegion, OperationTotals, Region, WaitingRanks};
use run_record::{FunctionTotals, Summary};

/// Share of a computation waiting for a core from which on the column is shown.
const NOTABLE: f64 = 0.02;
/// Text in place of a share.
const OUTSIDE: &str = "outside";

/// Medium that shows a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Terminal { is_wide: bool },
    Page,
}

impl Medium {
    /// Returns the largest number of rows: of those for a terminal and for a page.
    fn n_max(self, terminal: usize, page: usize) -> usize {
        if self == Self::Page { page } else { terminal }
    }

    fn is_wide(self) -> bool {
        self != Self::Terminal { is_wide: false }
    }

    fn operation(self, name: &str) -> String {
        match self {
            Self::Page => harmless(name),
            Self::Terminal { .. } => harmless(name.strip_prefix("MPI_").unwrap_or(name)),
        }
    }
}

/// Table with its heading.
pub(crate) struct Listing {
    /// Id of its section on a page.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) note: &'static str,
    /// Columns; a row is the id of its place on a page, if anything links there.
    pub(crate) table: Table<String>,
    /// Number of rows, shown or not.
    pub(crate) n_rows: usize,
    /// Sentences below the table.
    pub(crate) remarks: Vec<String>,
}

/// Returns the tables that have rows, in the order of the report.
pub(crate) fn all(summary: &Summary, medium: Medium) -> impl Iterator<Item = Listing> {
    let all = [
        waits,
        sampled::functions,
        functions,
        processors::processors,
        call_sites,
        delays::causes,
        delays::critical_path,
        sampled::callers,
        regions,
        openmp_regions,
        files::mpi_io,
        files::files,
        operations,
    ];
    all.into_iter().map(move |table| table(summary, medium)).filter(|listing| listing.n_rows != 0)
}

/// Returns the worlds of a run.
pub(crate) fn worlds(summary: &Summary, medium: Medium) -> Listing {
    let table = Table::new(summary.worlds.iter().enumerate().take(medium.n_max(8, 64)))
        .right("world", |(idx, _)| Cell::from(idx.to_string()).tone(Tone::Dim))
        .name("program", |(_, world)| harmless(&world.program))
        .right("ranks", |(_, world)| match (world.n_ranks, world.size) {
            (n_ranks, size) if n_ranks == size => Cell::count(size as u64),
            (n_ranks, size) => Cell::from(format!("{n_ranks} of {size}")).value(size as f64),
        })
        .right("start", |(_, world)| Cell::seconds(world.start_s))
        .right("time", |(_, world)| Cell::seconds(world.elapsed_s))
        .right("parallel efficiency", |(_, world)| {
            let efficiency = world.pop.parallel_efficiency;
            Cell::percent(efficiency).tone(grade(efficiency))
        })
        .with_rows(|_| String::new());
    let n_rows = summary.worlds.len();
    Listing { id: "worlds", title: "Worlds", note: "", table, n_rows, remarks: Vec::new() }
}

fn waits(summary: &Summary, medium: Medium) -> Listing {
    let ranks = summary.hang.iter().flat_map(|hang| &hang.ranks);
    let n_rows = ranks.clone().count();
    let has_worlds = 1 < summary.worlds.len();
    let table = waiting_ranks(ranks.take(medium.n_max(16, 1000)), has_worlds);
    Listing {
        id: "waits",
        title: "Where the ranks were",
        note: "when the command was ended",
        table,
        n_rows,
        remarks: Vec::new(),
    }
}

/// Returns a table of ranks in the same state.
pub(crate) fn waiting_ranks<'a>(
    ranks: impl Iterator<Item = &'a WaitingRanks>,
    has_worlds: bool,
) -> Table<String> {
    Table::new(ranks)
        .right("world", |group| Cell::from(group.world.to_string()))
        .when(has_worlds)
        .left("ranks", |group| Cell::from(harmless(&group.ranks)).tone(Tone::Strong))
        .right("number", |group| Cell::count(group.n_ranks as u64))
        .right("for at least", |group| Cell::seconds(group.since_s))
        .left("waiting for", |group| harmless(&group.waits_for))
        .name("in", |group| harmless(&group.state))
        .with_rows(|_| String::new())
}

fn functions(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let has_ranks = 1 < summary.n_ranks;
    let named = short_names(summary).into_iter().zip(&summary.functions);
    let cell = |it: &FunctionTotals, time_s| Cell::from(time(&it.total, time_s)).value(time_s);
    let table = Table::new(named.take(medium.n_max(20, 1000)))
        .name("function", |(name, it)| {
            Cell::from(name.as_str()).tone(Tone::Strong).hint(place::function(&it.place))
        })
        .name("place", |(_, it)| {
            Cell::from(place::location(&it.place)).hint(place::full(&it.place))
        })
        .when(medium.is_wide())
        .right("calls", |(_, it)| Cell::count(it.total.calls))
        .right("time", |(_, it)| cell(it, it.total.time_s))
        .right("share", |(_, it)| share(it.total.time_s, all_s))
        .right("per call", |(_, it)| cell(it, it.total.mean_s))
        .right("shortest", |(_, it)| cell(it, it.total.min_s))
        .when(medium.is_wide())
        .right("deviation", |(_, it)| cell(it, it.total.deviation_s))
        .when(medium.is_wide())
        .right("longest", |(_, it)| cell(it, it.total.max_s))
        .right("slowest", |(_, it)| {
            let imbalance = it.imbalance(summary.n_ranks).unwrap_or(0.0);
            Cell::from(slowest(summary, it)).value(imbalance)
        })
        .when(has_ranks)
        .column("time by rank", Align::Spark, |(_, it)| {
            spark(&by_rank_s(summary, it), "time in this function, by rank").into_string()
        })
        .when(has_ranks)
        .with_rows(|_| String::new());
    Listing {
        id: "functions",
        title: "Functions",
        note: "from entry to exit, with all that they call, over all ranks",
        table,
        n_rows: summary.functions.len(),
        remarks: notes(summary),
    }
}

fn call_sites(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let table = Table::new(summary.call_sites.iter().take(medium.n_max(8, 200)))
        .left("call", |site| shorten(&medium.operation(&site.operation), 18))
        .name("function", |site| place::function(&site.place))
        .name("place", |site| {
            let hint = place::full(&site.place);
            Cell::from(place::location(&site.place)).tone(Tone::Strong).hint(hint)
        })
        .right("calls", |site| Cell::count(site.calls))
        .right("time", |site| Cell::seconds(site.time_s))
        .right("share", |site| share(site.time_s, all_s))
        .right("longest", |site| Cell::seconds(site.time_max_s))
        .when(medium.is_wide())
        .right("bytes", |site| Cell::bytes(site.bytes))
        .column("time by rank", Align::Spark, |site| {
            spark(&site.time_by_rank_s, "time in this call, by rank").into_string()
        })
        .with_rows(|site| format!("site{}", site.id));
    Listing {
        id: "call-sites",
        title: "Where the MPI time goes",
        note: "time over all ranks",
        table,
        n_rows: summary.call_sites.len(),
        remarks: Vec::new(),
    }
}

fn regions(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let waiting_s = |region: &Region| region.sampled.map_or(0.0, |it| it.compute_runqueue_s);
    let is_short =
        summary.regions.iter().any(|region| NOTABLE * region.compute_s < waiting_s(region));
    let mut regions: Vec<&Region> = summary.regions.iter().collect();
    regions.sort_by(|a, b| b.compute_s.total_cmp(&a.compute_s));
    let end = |id: Option<usize>, missing: &str| {
        let call = id.and_then(|id| place::call(summary, id));
        let call = call.unwrap_or_else(|| format!("{missing} of the thread"));
        let location = id.and_then(|id| place::call_site(summary, id));
        match location.map(|site| place::location(&site.place)) {
            _ if medium == Medium::Page => Cell::from(call.as_str()).hint(call),
            Some(location) => location.into(),
            None => missing.into(),
        }
    };
    let table = Table::new(regions.iter().take(medium.n_max(8, 200)))
        .name("after", |region| end(region.from, "start"))
        .name("before", |region| end(region.to, "end").tone(Tone::Strong))
        .right("times", |region| Cell::count(region.calls))
        .right("computing", |region| Cell::seconds(region.compute_s))
        .right("share", |region| share(region.compute_s, all_s))
        .right("without a core", |region| Cell::seconds(waiting_s(region)))
        .when(is_short)
        .right("then in MPI", |region| Cell::seconds(region.mpi_s))
        .right("bytes", |region| Cell::bytes(region.bytes))
        .when(medium.is_wide())
        .column("computing by rank", Align::Spark, |region| {
            spark(&region.compute_by_rank_s, "computing, by rank").into_string()
        })
        .with_rows(|_| String::new());
    Listing {
        id: "regions",
        title: "Where the computation goes",
        note: "from the end of one call to the start of the next",
        table,
        n_rows: regions.len(),
        remarks: Vec::new(),
    }
}

fn openmp_regions(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let of_team = |part_s: f64, region: &OpenMpRegion| {
        Cell::percent(display::units::share_of(part_s, region.team_s))
    };
    let has_mpi = summary.openmp_regions.iter().any(|region| region.mpi_s != 0.0);
    let table = Table::new(summary.openmp_regions.iter().take(medium.n_max(8, 200)))
        .name("function", |region| place::function(&region.place))
        .name("place", |region| {
            let hint = place::full(&region.place);
            Cell::from(place::location(&region.place)).tone(Tone::Strong).hint(hint)
        })
        .right("times", |region| Cell::count(region.executions))
        .right("threads", |region| Cell::count(region.threads))
        .right("time", |region| Cell::seconds(region.time_s))
        .right("share", |region| share(region.time_s, all_s))
        .right("balance", |region| match region.load_balance {
            Some(balance) => Cell::percent(balance).tone(grade(balance)),
            None => Cell::from("tasks").tone(Tone::Dim).value(1.0),
        })
        .right("waiting", |region| of_team(region.waiting_s, region))
        .right("starting", |region| of_team(region.starting_s, region))
        .right("in MPI", |region| of_team(region.mpi_s, region))
        .when(has_mpi)
        .column("time by rank", Align::Spark, |region| {
            spark(&region.time_by_rank_s, "time in this region, by rank").into_string()
        })
        .with_rows(|_| String::new());
    Listing {
        id: "openmp-regions",
        title: "OpenMP regions",
        note: "time over all ranks; balance, waiting and starting of their threads",
        table,
        n_rows: summary.openmp_regions.len(),
        remarks: Vec::new(),
    }
}

fn operations(summary: &Summary, medium: Medium) -> Listing {
    let all_s = ranking::time_of_all_s(summary);
    let per_call = |total: f64, it: &OperationTotals| total / it.calls.max(1) as f64;
    let all = ranking::operations_by_time(summary);
    let table = Table::new(all.into_iter().take(medium.n_max(10, usize::MAX)))
        .name("operation", |(name, _)| medium.operation(name))
        .name("class", |(_, it)| Cell::from(harmless(&it.class)).tone(Tone::Dim))
        .right("calls", |(_, it)| Cell::count(it.calls))
        .right("time", |(_, it)| Cell::seconds(it.time_s))
        .right("share", |(name, it)| {
            // The measured time excludes starting and ending MPI.
            let is_outside = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"].contains(name);
            let outside = || Cell::from(OUTSIDE).tone(Tone::Dim).value(0.0);
            if is_outside { outside() } else { share(it.time_s, all_s) }
        })
        .right("per call", |(_, it)| Cell::seconds(per_call(it.time_s, it)))
        .right("bytes", |(_, it)| Cell::bytes(it.bytes))
        .right("bytes per call", |(_, it)| Cell::bytes(it.bytes / it.calls.max(1)))
        .when(medium.is_wide())
        .with_rows(|_| String::new());
    Listing {
        id: "operations",
        title: "Operations",
        note: "time over all ranks",
        table,
        n_rows: summary.operations.len(),
        remarks: Vec::new(),
    }
}

/// Returns a cell with a share of all ranks' time; large ones stand out.
fn share(part_s: f64, all_s: f64) -> Cell {
    let share = display::units::share_of(part_s, all_s);
    Cell::percent(share).tone(tone(share))
}

fn tone(share: f64) -> Tone {
    if share >= 0.05 { Tone::Strong } else { Tone::Plain }
}

/// Returns the time of each rank in s; empty if not recorded.
fn by_rank_s(summary: &Summary, function: &FunctionTotals) -> Vec<f64> {
    if function.by_rank.is_empty() {
        return Vec::new();
    }
    let mut all = vec![0.0; summary.ranks.len()];
    for (idx, times) in &function.by_rank {
        if let Some(time_s) = all.get_mut(*idx) {
            *time_s = times.time_s;
        }
    }
    all
}
