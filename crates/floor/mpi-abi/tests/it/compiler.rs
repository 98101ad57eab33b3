//! The compilers of the installed MPI libraries.

use std::io::Write;
use std::process::{Command, Stdio};

use mpi_abi::LibraryFamily;

/// Compiler of one library.
pub(crate) struct Compiler {
    /// Command that runs the compiler.
    pub(crate) command: String,
    /// Library for which it builds programs.
    pub(crate) library: LibraryFamily,
}

/// Returns the two compilers that the setup installs, and those in `SINTONIA_TEST_MPICC`, separated by colons.
pub(crate) fn compilers() -> Vec<Compiler> {
    let more = std::env::var("SINTONIA_TEST_MPICC").unwrap_or_default();
    let installed = ["mpicc.openmpi", "mpicc.mpich"].into_iter();
    let commands = installed.chain(more.split(':').filter(|command| !command.is_empty()));
    commands.map(Compiler::new).collect()
}

impl Compiler {
    fn new(command: &str) -> Self {
        let mut compiler = Self { command: command.to_owned(), library: LibraryFamily::Mpich };
        let probe = "#include <mpi.h>\n#ifdef OMPI_MAJOR_VERSION\nopen_mpi\n#endif\n\
                     #ifdef MPI_ABI_VERSION\nstandard_abi\n#endif\n";
        let text = compiler.preprocessed(probe);
        if text.contains("\nopen_mpi") {
            compiler.library = LibraryFamily::OpenMpi;
        } else if text.contains("\nstandard_abi") {
            compiler.library = LibraryFamily::StandardAbi;
        }
        compiler
    }

    /// Returns a C source after the preprocessor.
    pub(crate) fn preprocessed(&self, source: &str) -> String {
        self.compile(source, &["-E", "-P", "-o", "-"])
    }

    /// Compiles a C source and returns the compiler's output.
    pub(crate) fn compile(&self, source: &str, options: &[&str]) -> String {
        let mut child = Command::new(&self.command)
            .args(["-x", "c", "-"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an MPI compiler: install what `openmpi` and `mpich` need to build programs");
        let mut input = child.stdin.take().expect("a piped input");
        input.write_all(source.as_bytes()).expect("the compiler reads all");
        drop(input);
        let output = child.wait_with_output().expect("the compiler ends");
        assert!(output.status.success(), "`{}` fails", self.command);
        String::from_utf8(output.stdout).expect("text")
    }
}
