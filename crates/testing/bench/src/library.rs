//! MPI libraries of this machine, and the commands that start ranks under each.

use crate::build_paths::{BuildPaths, in_path, make_folder};
use crate::error::BenchError;
use crate::sample;
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS, Setting};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An MPI library with its compiler and launcher.
#[derive(Clone, Debug)]
pub(crate) struct BenchLibrary {
    /// Name for people.
    pub(crate) name: &'static str,
    /// Name in file names and in names of environment variables.
    pub(crate) key: &'static str,
    mpicc: PathBuf,
    mpirun: PathBuf,
    alone_on_cores: &'static [&'static str],
    sharing_cores: &'static [&'static str],
    /// Environment variables that its programs need.
    pub(crate) settings: &'static [Setting],
}

/// Libraries found in `PATH`.
pub(crate) fn installed() -> Vec<BenchLibrary> {
    // Each rank polls on a core of its own.
    let open_mpi: &[&str] = &["--bind-to", "core", "--mca", "mpi_yield_when_idle", "0"];
    let giving_way: &[&str] = &["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"];
    [
        ("Open MPI", "openmpi", open_mpi, giving_way),
        ("MPICH", "mpich", &["-bind-to", "core"], &["-bind-to", "none"]),
    ]
    .into_iter()
    .filter_map(|(name, key, alone_on_cores, sharing_cores)| {
        let mpicc = in_path(&format!("mpicc.{key}"))?;
        let mpirun = in_path(&format!("mpirun.{key}"))?;
        let settings = &[];
        Some(BenchLibrary { name, key, mpicc, mpirun, alone_on_cores, sharing_cores, settings })
    })
    .collect()
}

/// Libraries installed by `scripts/setup.sh bench`, under which a running program can start processes.
pub(crate) fn dynamic(paths: &BuildPaths) -> Vec<BenchLibrary> {
    let giving_way: &[&str] = &["--oversubscribe", "--bind-to", "none"];
    let libraries = [
        ("Open MPI 5", "openmpi5", giving_way, &OPEN_MPI_SETTINGS[..]),
        // Its launcher fails at a spawn if it was given options for binding.
        ("MPICH 5", "mpich5", &[], &MPICH_SETTINGS),
    ];
    let installed = libraries.into_iter().map(|(name, key, options, settings)| {
        let folder = paths.root.join("target").join(format!("venv-{key}")).join("bin");
        let (mpicc, mpirun) = (folder.join("mpicc"), folder.join("mpiexec"));
        let (alone_on_cores, sharing_cores) = (options, options);
        BenchLibrary { name, key, mpicc, mpirun, alone_on_cores, sharing_cores, settings }
    });
    installed.filter(|library| library.mpirun.exists()).collect()
}

/// Environment variables with which the wheel of mpi4py in this virtual environment takes Debian's MPICH.
pub(crate) fn mpich_of_mpi4py(environment: &Path) -> Vec<(&'static str, OsString)> {
    let folder = environment.join("lib/mpich").into_os_string();
    vec![("LD_LIBRARY_PATH", folder), ("MPI4PY_MPIABI", "mpich".into())]
}

impl BenchLibrary {
    /// Words that start `n_ranks` ranks, each on a core of its own.
    pub(crate) fn launch(&self, n_ranks: usize) -> Vec<OsString> {
        self.launch_with(self.alone_on_cores, n_ranks)
    }

    /// Words that start `n_ranks` ranks, which may be more than there are cores.
    pub(crate) fn launch_shared(&self, n_ranks: usize) -> Vec<OsString> {
        self.launch_with(self.sharing_cores, n_ranks)
    }

    fn launch_with(&self, options: &[&str], n_ranks: usize) -> Vec<OsString> {
        let mut words = vec![self.mpirun.clone().into_os_string()];
        words.extend(options.iter().map(OsString::from));
        words.extend(["-np".into(), n_ranks.to_string().into()]);
        words
    }

    /// Compiles a program of this crate; a name that ends in `.so` makes a library to preload.
    pub(crate) fn compile(
        &self,
        paths: &BuildPaths,
        source: &str,
        name: &str,
    ) -> Result<PathBuf, BenchError> {
        let folder = paths.results.join(self.key);
        make_folder(&folder)?;
        let program = folder.join(name);
        let mut compiler = Command::new(&self.mpicc);
        compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-o"]).arg(&program);
        if Path::new(name).extension().is_some_and(|extension| extension == "so") {
            compiler.args(["-shared", "-fPIC"]);
        }
        compiler.arg(paths.source(source));
        sample::output_of(compiler)?;
        Ok(program)
    }
}
