//! Builds the programs of `programs/` into `target/suite`, each only when it has changed.

use launch::library::{Language, Library, on_path};
use launch::place::target;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Program under test, as sources and flags.
#[derive(Clone, Debug)]
pub struct TestProgram {
    name: String,
    language: Language,
    sources: Vec<PathBuf>,
    flags: Vec<String>,
}

/// Flags of all programs: debug lines for call sites, and little optimization so that builds are short. GCC takes the
/// libraries' constants for absent arrays for arrays of length 0.
const FLAGS: &[&str] = &["-g", "-O1", "-Wno-stringop-overflow", "-Wno-stringop-overread"];

impl TestProgram {
    /// Program `programs/NAME.c`.
    pub fn c(name: &str) -> Self {
        Self::new(name, Language::C, &[&format!("{name}.c")]).flags(&["-std=gnu11"])
    }

    /// Program `programs/NAME.cpp`.
    pub fn cpp(name: &str) -> Self {
        Self::new(name, Language::Cpp, &[&format!("{name}.cpp")]).flags(&["-std=c++17", "-pthread"])
    }

    /// Program `programs/bindings.F90` with one of its three bindings; `expect.c` must be built before.
    pub fn fortran(binding: Binding, library: Library) -> Self {
        let flags = ["-cpp", "-fallow-argument-mismatch", "-w", "-ffree-line-length-none"];
        let name = format!("bindings-{}", binding.name());
        let modules = folder_of(Some(library)).join(format!("{name}-modules"));
        fs::create_dir_all(&modules).expect("the folder of programs is writable");
        let mut program = Self::new(&name, Language::Fortran, &["bindings.F90"]).flags(&flags);
        program.sources.push(Self::object_of_expect().built(library));
        program.flags.push(format!("-DBINDING={}", binding as u8));
        program.flags.push(format!("-J{}", modules.display()));
        program
    }

    /// Program `programs/NAME.f90`, for one of the libraries that have Fortran.
    pub fn f90(name: &str, library: Library) -> Self {
        let modules = folder_of(Some(library)).join(format!("{name}-modules"));
        fs::create_dir_all(&modules).expect("the folder of programs is writable");
        let named = format!("{name}-f90");
        Self::new(&named, Language::Fortran, &[&format!("{name}.f90")])
            .flags(&[&format!("-J{}", modules.display())])
    }

    /// Program of `apps/matmul`.
    pub fn matmul(name: &str) -> Self {
        let folder = Path::new("../../../../apps/matmul/src");
        let sources = [name, "matrix", "start"].map(|part| folder.join(format!("{part}.c")));
        let mut program = Self::new(name, Language::C, &[]).flags(&["-std=gnu11"]);
        program.sources.extend(sources.iter().map(|source| source_folder().join(source)));
        program
    }

    /// C program whose text a test generates.
    pub fn generated(name: &str, text: &str) -> Self {
        let folder = target().join("suite/generated");
        fs::create_dir_all(&folder).expect("the target folder is writable");
        let source = folder.join(format!("{name}.c"));
        if !fs::read_to_string(&source).is_ok_and(|before| before == text) {
            fs::write(&source, text).expect("the folder was just made");
        }
        let mut program = Self::new(name, Language::C, &[]).flags(&["-std=gnu11"]);
        program.sources.push(source);
        program
    }

    /// Program of all sources in `programs/operations`; `large` calls the large-count form where there is one.
    pub fn operations(large: bool) -> Self {
        let name = if large { "operations-large" } else { "operations" };
        let mut program = Self::new(name, Language::C, &[]).flags(&["-std=gnu11"]);
        program.sources = sources_in(&source_folder().join("operations"), "c");
        if large {
            program.flags.push("-DLARGE".to_owned());
        }
        program
    }

    /// Shared library made from `programs/NAME.c`.
    pub fn shared(name: &str) -> Self {
        Self::c(name).flags(&["-shared", "-fPIC"]).named(&format!("{name}.so"))
    }

    /// Adds flags.
    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Gives the program another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Builds the program for `library` if needed; returns its path.
    #[track_caller]
    pub fn built(&self, library: Library) -> PathBuf {
        self.build(&library.compiler(self.language), &folder_of(Some(library)))
    }

    /// Builds the program without any MPI library if needed; returns its path.
    #[track_caller]
    pub fn built_without_mpi(&self) -> PathBuf {
        self.build(&on_path("gcc"), &folder_of(None))
    }

    fn object_of_expect() -> Self {
        Self::new("expect.o", Language::C, &["operations/expect.c"]).flags(&["-c"])
    }

    fn new(name: &str, language: Language, sources: &[&str]) -> Self {
        let sources = sources.iter().map(|source| source_folder().join(source)).collect();
        Self { name: name.to_owned(), language, sources, flags: Vec::new() }
    }

    #[track_caller]
    fn build(&self, compiler: &Path, folder: &Path) -> PathBuf {
        fs::create_dir_all(folder).expect("the target folder is writable");
        let lock = File::create(folder.join("lock")).expect("the folder was just made");
        lock.lock().expect("files can be locked here");
        let built = folder.join(&self.name);
        let noted = folder.join(format!("{}.command", self.name));
        let command = format!("{} {}", compiler.display(), self.arguments().join(" "));
        let is_same = fs::read_to_string(&noted).is_ok_and(|before| before == command);
        if !(is_same && self.sources_changed() < changed(&built)) {
            self.compile(compiler, &built);
            fs::write(&noted, command).expect("the folder is writable");
        }
        built
    }

    fn arguments(&self) -> Vec<String> {
        let sources = self.sources.iter().map(|path| path.display().to_string());
        let flags = FLAGS.iter().map(|flag| (*flag).to_owned()).chain(self.flags.iter().cloned());
        // Fortran's object file of expectations must follow the source that calls it; libraries come last.
        flags.chain(sources).chain(["-lm".to_owned(), "-ldl".to_owned()]).collect()
    }

    #[track_caller]
    fn compile(&self, compiler: &Path, to: &Path) {
        let making = to.with_extension("making");
        let output = Command::new(compiler)
            .args(self.arguments())
            .arg("-o")
            .arg(&making)
            .output()
            .unwrap_or_else(|error| panic!("`{}` does not start: {error}", compiler.display()));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "`{}` does not build:\n{words}", self.name);
        fs::rename(&making, to).expect("the compiler wrote it");
    }

    /// Time of the latest change of a source, or of a header that it may include.
    fn sources_changed(&self) -> SystemTime {
        let headers = sources_in(&source_folder().join("operations"), "h");
        self.sources
            .iter()
            .chain(&headers)
            .map(|path| changed(path))
            .max()
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// Fortran interface to MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// `include 'mpif.h'`.
    Mpif = 1,
    /// `use mpi`.
    Mpi = 2,
    /// `use mpi_f08`.
    MpiF08 = 3,
}

impl Binding {
    /// All interfaces.
    pub const ALL: [Self; 3] = [Self::Mpif, Self::Mpi, Self::MpiF08];

    fn name(self) -> &'static str {
        match self {
            Self::Mpif => "mpif",
            Self::Mpi => "mpi",
            Self::MpiF08 => "mpi_f08",
        }
    }
}

/// Folder with the sources of programs.
pub fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

fn folder_of(library: Option<Library>) -> PathBuf {
    target().join("suite").join(library.map_or("none", Library::name))
}

fn sources_in(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of programs is there");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}
