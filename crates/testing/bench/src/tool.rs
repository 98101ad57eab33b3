//! Tools that are compared, and the command that runs a program under each.

use crate::build_paths::BuildPaths;
use crate::error::BenchError;
use crate::library::BenchLibrary;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Way to watch a program, or the bare run.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Name in tables.
    pub(crate) name: &'static str,
    /// Sintonia, a peer, or neither.
    pub(crate) role: ToolRole,
    environment: Vec<(&'static str, OsString)>,
    /// Words in front of the command.
    before: Vec<OsString>,
}

/// Role of a tool in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolRole {
    /// No tool watches.
    Bare,
    /// Least that watching can cost.
    Bound,
    /// Another tool.
    Peer,
    /// Sintonia with statistics.
    Statistics,
    /// Sintonia with every call recorded.
    Trace,
}

/// Run ID of shared memory that this program may remove.
const RUN: &str = "00000000000bench";

impl Tool {
    /// Runs without a tool.
    pub(crate) fn bare() -> Self {
        Self { name: "bare", role: ToolRole::Bare, environment: Vec::new(), before: Vec::new() }
    }

    fn preloaded(name: &'static str, role: ToolRole, library: &Path) -> Self {
        let environment = vec![("LD_PRELOAD", library.as_os_str().to_owned())];
        Self { name, role, environment, before: Vec::new() }
    }

    /// Probe without launcher and collector, for its cost alone.
    fn probe(paths: &BuildPaths) -> Self {
        let mut tool = Self::preloaded("probe", ToolRole::Statistics, &paths.probe);
        tool.environment.push(("SINTONIA_RUN", RUN.into()));
        tool
    }

    /// All of Sintonia; `None` if it is not built.
    pub(crate) fn sintonia(paths: &BuildPaths, role: ToolRole) -> Option<Self> {
        let options: &[&str] = if role == ToolRole::Trace { &["--trace"] } else { &[] };
        let name = if role == ToolRole::Trace { "sintonia --trace" } else { "sintonia" };
        Some(Self { role, ..Self::sintonia_with(paths, name, options)? })
    }

    /// All of Sintonia with these options, under a name of its own.
    pub(crate) fn sintonia_with(
        paths: &BuildPaths,
        name: &'static str,
        options: &[&str],
    ) -> Option<Self> {
        let record = paths.scratch().join("record");
        let mut before = vec![paths.built("sintonia").ok()?.into_os_string(), "run".into()];
        before.extend(options.iter().map(OsString::from));
        before.extend(["--out".into(), record.into_os_string(), "--".into()]);
        Some(Self { name, role: ToolRole::Statistics, environment: Vec::new(), before })
    }

    /// Command of a program started by `launcher` under this tool, in the scratch folder.
    ///
    /// Only the ranks get the environment: some peers cannot be loaded into a launcher.
    pub(crate) fn command(
        &self,
        paths: &BuildPaths,
        launcher: &[OsString],
        program: &[OsString],
    ) -> Command {
        clean_up(paths);
        let settings = self.environment.iter().map(|(name, value)| {
            let mut setting = OsString::from(format!("{name}="));
            setting.push(value);
            setting
        });
        let mut words = self.before.clone();
        words.extend_from_slice(launcher);
        if !self.environment.is_empty() {
            words.push("env".into());
            words.extend(settings);
        }
        words.extend_from_slice(program);
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(paths.scratch());
        command
    }
}

/// All tools on this machine for programs of this MPI library.
pub(crate) fn all(paths: &BuildPaths, library: &BenchLibrary) -> Result<Vec<Tool>, BenchError> {
    let shim = library.compile(paths, "shim.c", "shim.so")?;
    let mut tools = vec![
        Tool::bare(),
        Tool::preloaded("rdtsc shim", ToolRole::Bound, &shim),
        Tool::probe(paths),
    ];
    tools.extend(Tool::sintonia(paths, ToolRole::Statistics));
    tools.extend(Tool::sintonia(paths, ToolRole::Trace));
    let peer = |name, library: &Path, (variable, value): (&'static str, &str)| {
        let mut tool = Tool::preloaded(name, ToolRole::Peer, library);
        tool.environment.push((variable, value.into()));
        tool
    };
    let talp = installation("DLB_HOME", library, "libdlb_mpi.so");
    tools.extend(talp.map(|talp| peer("DLB/TALP", &talp, ("DLB_ARGS", "--talp"))));
    if let Some(mpip) = installation("MPIP_HOME", library, "libmpiP.so") {
        tools.push(peer("mpiP -k 0", &mpip, ("MPIP", "-k 0")));
        tools.push(peer("mpiP", &mpip, ("MPIP", "")));
    }
    Ok(tools)
}

/// Path of a library below the folder that `<variable>_<LIBRARY>` or `<variable>` names: a peer is built for one MPI
/// library only.
fn installation(variable: &str, library: &BenchLibrary, file: &str) -> Option<PathBuf> {
    let special = format!("{variable}_{}", library.key.to_uppercase());
    let home = std::env::var_os(special).or_else(|| std::env::var_os(variable))?;
    let paths = ["lib", "lib64", "."].map(|folder| Path::new(&home).join(folder).join(file));
    paths.into_iter().find(|path| path.exists())
}

/// Removes the files of runs: the record, and the shared memory of the probe alone.
pub(crate) fn clean_up(paths: &BuildPaths) {
    let _record = std::fs::remove_dir_all(paths.scratch().join("record"));
    let folders = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        if folder.to_string_lossy().ends_with(&format!("-{RUN}")) {
            let _memory = std::fs::remove_dir_all(folder);
        }
    }
}
