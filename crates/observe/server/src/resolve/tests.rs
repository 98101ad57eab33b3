//! Tests of plans for a small program compiled here, and for the example program.

use super::{Names, ResolveError, resolve};
use app_description::{Application, Level};
use events::{ProbePoint, ValueType};
use std::path::{Path, PathBuf};
use std::process::Command;
use symbols::Program;
use tempfile::TempDir;
use tuner::plan::{PlannedChange, TuningPlan};
use wire::control::{Attribute, Location, Replacement, Site, SitePoint, ValueOrigin};

const SOURCE: &str = "
#define KEPT __attribute__((noipa))
struct grid { int columns; long rows; } grid;
volatile double factor = 1.0;
KEPT int step(int n, double share, long unused) { return n + (int)(factor * share) + (int)unused; }
KEPT int step_fast(int n, double share, long unused) { return n * (int)share * (int)unused; }
KEPT void retune(double value) { factor = value; }
KEPT void grid_fill(void) { grid.rows = 1; grid.columns = 2; }
KEPT void grid_clear(void) { grid.rows = 0; grid.columns = 1; }
int main(void)
{
    grid_fill();
    grid_clear();
    retune(2.0);
    return step(1, 2.0, 3) + step_fast(1, 2.0, 3);
}
";

const DESCRIPTION: &str = "
format = 1
program = 'grid'
actors = { master = '0', worker = '1-' }
[[event]]
name = 'start'
actor = 'master'
function = 'step'
at = 'entry'
attributes = ['grid.rows', { name = 'share', argument = 2 }, { name = 'n', argument = 1 }]
[[event]]
name = 'filled'
actor = 'worker'
function = 'grid_fill'
at = 'exit'
[[event]]
name = 'end'
actor = 'master'
function = 'step'
at = 'exit'
attributes = [{ name = 'rc', returned = true }]
[[tuning_point]]
name = 'factor'
actor = 'master'
range = [0.5, 4]
at = 'start'
[[tuning_point]]
name = 'call'
actor = 'worker'
call = 'retune'
range = [0.5, 4]
at = { function = 'grid_clear', at = 'exit' }
[[tuning_point]]
name = 'fast'
actor = 'worker'
replace = { function = 'step', by = 'step_fast' }
at = { function = 'grid_clear', at = 'exit' }
[[tuning_point]]
name = 'fastest'
actor = 'worker'
replace = { function = 'step', by = 'fast.so:step_fastest' }
at = { function = 'grid_clear', at = 'exit' }
";

struct Compiled {
    program: Program,
    /// Keeps the file until the test ends.
    _folder: TempDir,
}

impl Compiled {
    fn new() -> Self {
        Self::of(SOURCE, &["-O2"])
    }

    fn of(text: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("grid.c");
        std::fs::write(&source, text).unwrap();
        let path = folder.path().join("grid");
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-Wl,--build-id"]).args(flags).arg("-o").args([&path, &source]);
        assert!(compiler.status().unwrap().success());
        Self { program: Program::open(&path).unwrap(), _folder: folder }
    }

    fn resolve(
        &self,
        application: &Application,
        patterns: &[&str],
    ) -> Result<TuningPlan, ResolveError> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        resolve(application, &patterns, &self.program).map(|(_, plan)| plan)
    }

    #[track_caller]
    fn plan(&self, patterns: &[&str]) -> TuningPlan {
        self.resolve(&described(DESCRIPTION, &self.program), patterns).unwrap()
    }

    /// Returns the warnings of a run with these patterns.
    #[track_caller]
    fn warnings(&self, patterns: &[&str]) -> Vec<String> {
        self.resolve(&Application::default(), patterns).unwrap().warnings
    }

    fn address(&self, function: &str) -> u64 {
        self.program.function(function).unwrap().address
    }
}

/// Reads a description, and checks that it has no problems.
#[track_caller]
fn described(text: &str, program: &Program) -> Application {
    let (application, problems) = app_description::read(text);
    assert_eq!(problems, []);
    let application = application.unwrap();
    let problems = app_description::check(text, &application, &Names::of(program));
    let shown: String = problems.iter().map(|problem| problem.render("APP.toml", text)).collect();
    assert_eq!(shown, "");
    application
}

fn at(address: u64) -> Location {
    Location { module: 0, address }
}

fn number(point: Option<&SitePoint>) -> Option<u32> {
    point.map(|point| point.event)
}

/// Returns a site's address, its events at entry and exit, and whether it is a sync point.
fn outline(site: &Site) -> (u64, Option<u32>, Option<u32>, bool) {
    let (entry, exit) = (number(site.entry.as_ref()), number(site.exit.as_ref()));
    (site.function.address, entry, exit, site.is_sync)
}

#[test]
fn a_function_is_one_site() {
    let compiled = Compiled::new();
    let plan = compiled.plan(&[]);
    let address = |function| compiled.address(function);
    let sites: Vec<_> = plan.sites.iter().map(outline).collect();
    let expected = [
        (address("step"), Some(0), Some(2), true),
        (address("grid_fill"), None, Some(1), false),
        (address("grid_clear"), None, None, true),
    ];
    assert_eq!(sites, expected);
    assert!(plan.sites.iter().zip(0..).all(|(site, id)| site.id == id));
    assert!(plan.sites.iter().all(|site| 0 < site.n_bytes && site.n_bytes <= site.n_bytes_to_next));
    assert_eq!(plan.modules.len(), 1);
    assert!(plan.modules[0].name.is_empty() && !plan.modules[0].build_id.is_empty());
}

#[test]
fn attributes_are_read_where_they_are() {
    let compiled = Compiled::new();
    let plan = compiled.plan(&[]);
    let (entry, exit) = (plan.sites[0].entry.as_ref(), plan.sites[0].exit.as_ref());
    let rows = at(compiled.program.variable("grid.rows").unwrap().address);
    assert_eq!(
        entry.unwrap().attributes,
        [
            Attribute { source: ValueOrigin::Global(rows), kind: ValueType::I64 },
            Attribute { source: ValueOrigin::Float(0), kind: ValueType::F64 },
            Attribute { source: ValueOrigin::Integer(0), kind: ValueType::I32 },
        ]
    );
    let returned = Attribute { source: ValueOrigin::Returned, kind: ValueType::I32 };
    assert_eq!(exit.unwrap().attributes, [returned]);
    let attributes =
        [("grid.rows", ValueType::I64), ("share", ValueType::F64), ("n", ValueType::I32)];
    assert_eq!(plan.events[0].attributes, attributes.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn tuning_points_are_changed_at_their_sync_points() {
    let compiled = Compiled::new();
    let plan = compiled.plan(&[]);
    let factor = at(compiled.program.variable("factor").unwrap().address);
    let retune = at(compiled.address("retune"));
    let fast = Replacement::Function(at(compiled.address("step_fast")));
    let fastest = Replacement::Exported("fast.so:step_fastest".to_owned());
    let points = plan.points.iter().map(|point| (point.sync, point.kind, point.change.clone()));
    let (start, cleared) = ((0, ProbePoint::Entry), (2, ProbePoint::Exit));
    let expected = [
        (start, ValueType::F64, PlannedChange::Set { at: factor }),
        (cleared, ValueType::F64, PlannedChange::Call { function: retune, returns: None }),
        (cleared, ValueType::Bool, PlannedChange::Replace { site: 0, by: fast }),
        (cleared, ValueType::Bool, PlannedChange::Replace { site: 0, by: fastest }),
    ];
    assert_eq!(points.collect::<Vec<_>>(), expected);
    let of_master: Vec<_> = plan.points.iter().map(|point| point.ranks.contains(0)).collect();
    assert_eq!(of_master, [true, false, false, false]);
}

#[test]
fn patterns_add_events_where_the_description_has_none() {
    let plan = Compiled::new().plan(&["grid_*", "step"]);
    let mut added: Vec<_> = plan.events[3..].iter().map(|event| event.name.as_str()).collect();
    added.sort_unstable();
    assert_eq!(added, ["grid_clear entry", "grid_clear exit", "grid_fill entry"]);
    let named = |number: u32| plan.events[number as usize].name.clone();
    let entry = |site: &Site| number(site.entry.as_ref()).map(named);
    let entries: Vec<_> = plan.sites.iter().filter_map(entry).collect();
    assert_eq!(entries, ["start", "grid_fill entry", "grid_clear entry"]);
}

#[test]
fn a_pattern_that_matches_nothing_is_named() {
    let compiled = Compiled::new();
    let find = |pattern| compiled.resolve(&Application::default(), &[pattern]);
    let sentence = find("gird_*").unwrap_err().to_string();
    assert!(sentence.contains("that can have probes matches `gird_*`"), "{sentence}");
    let all = find("*").unwrap();
    assert!(6 <= all.sites.len() && all.events.len() == 2 * all.sites.len());
}

#[test]
fn arguments_of_variants_are_not_read() {
    let source = "
static __attribute__((noinline)) int narrow(int n, int factor) { return n * factor + n % 7; }
int main(int n, char **v) { return narrow(n, 3) + narrow(n + 1, 3) + (v == 0); }
";
    let compiled = Compiled::of(source, &["-O2"]);
    let names = Names::of(&compiled.program);
    let whole = app_description::ProgramNames::function(&names, "narrow").unwrap_err();
    assert!(whole.contains("only in variants made by the compiler"), "{whole}");
    let variant = app_description::ProgramNames::function(&names, "narrow.constprop.0").unwrap();
    assert_eq!(variant.not_probeable, None);
    assert!(variant.arguments.is_none(), "{:?}", variant.arguments);
}

#[test]
fn functions_that_are_also_inlined_are_warned_of() {
    let source = "int easy(int n) { return n + 1; }\nint main(int n, char **v) { return easy(n) + (v == 0); }\n";
    let compiled = Compiled::of(source, &["-O2"]);
    let warnings = compiled.warnings(&["easy"]);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("`easy` was also inlined at 1 places"), "{warnings:?}");
    assert_eq!(Compiled::of(source, &["-O0"]).warnings(&["*"]), [""; 0]);
    let more = source.replace("int main", "int other(int n) { return easy(n) * n; }\nint main");
    let warnings =
        Compiled::of(&more.replace("easy(n) +", "other(n) +"), &["-O2", "-pg"]).warnings(&["*"]);
    assert!(warnings[0].starts_with("2 of "), "{warnings:?}");
    assert!(warnings[1].contains("is compiled with `-pg`"), "{warnings:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn the_example_program_has_what_its_description_names() {
    let xfire = root().join("target/xfire-openmpi/xfire");
    assert!(xfire.exists(), "there is no `{}`; run `make test`", xfire.display());
    let program = Program::open(&xfire).unwrap();
    let text = std::fs::read_to_string(root().join("apps/xfire/xfire.toml")).unwrap();
    let (application, plan) = resolve(&described(&text, &program), &[], &program).unwrap();
    assert_eq!((plan.events.len(), plan.sites.len(), plan.points.len()), (7, 5, 4));
    let kinds: Vec<_> = application.tuning_points.iter().map(|point| point.kind).collect();
    let double = Some(ValueType::F64);
    assert_eq!(kinds, [double, double, double, Some(ValueType::I32)]);
}

#[test]
fn a_misspelt_name_is_shown_with_its_line() {
    let compiled = Compiled::new();
    let text = DESCRIPTION.replace("'grid_fill'", "'gird_fill'");
    let (application, _) = app_description::read(&text);
    let problems =
        app_description::check(&text, &application.unwrap(), &Names::of(&compiled.program));
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let problem = &problems[0];
    assert_eq!((problem.level, problem.line), (Level::Error, 14));
    assert!(problem.sentence.contains("`grid_fill`"), "{}", problem.sentence);
}

#[test]
fn a_variable_that_nothing_reads_is_warned_of() {
    let compiled = Compiled::new();
    let text = DESCRIPTION.replace("name = 'factor'", "name = 'factor'\nvariable = 'grid.columns'");
    let text = text.replace("range = [0.5, 4]\nat = 'start'", "range = [1, 4]\nat = 'start'");
    let (application, _) = app_description::read(&text);
    let problems =
        app_description::check(&text, &application.unwrap(), &Names::of(&compiled.program));
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(problems[0].level, Level::Warning);
    let expected = "tuning point `factor`: no instruction reads `grid.columns`";
    assert!(problems[0].sentence.starts_with(expected), "{}", problems[0].sentence);
}
