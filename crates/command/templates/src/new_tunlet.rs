//! `sintonia new-tunlet`: makes a project with a tunlet that builds and whose test runs.
//!
//! Projects are copies of `examples/tunlets/` of this repository with another name, and contain the interface: this
//! program alone is enough to write a tunlet.

use crate::project::{self, Language, ProjectOptions};
use clap::Args;
use std::process::ExitCode;
use user_io::terminal::Terminal;

/// Name that the examples have.
const EXAMPLE: &str = "damping";

const EXAMPLES: &str = "\
Examples:
  sintonia new-tunlet my-tunlet --lang c && make -C my-tunlet test
  sintonia new-tunlet my-tunlet --lang rust --dir tunlets/mine";

/// Make a project with a tunlet of your own
///
/// The project builds a shared library for `sintonia run --tunlet LIB.so`, has a test that needs no MPI program, and
/// needs only a compiler.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    project: ProjectOptions,
}

/// Makes the project and says how to go on.
pub fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let ProjectOptions { name, lang, .. } = &options.project;
    project::check_name(name, "tunlet")?;
    let dir = options.project.folder();
    let (template, test) = match lang {
        Language::C => (C, "make test"),
        Language::Rust => (RUST, "cargo test"),
    };
    project::write(&dir, &template.files(name))?;
    user_io::print::result(&format!("made `{0}`; try it: cd {0} && {test}\n", dir.display()))
}

/// Paths inside the project, with their texts.
#[derive(Clone, Copy)]
struct Template {
    /// Files that contain the name.
    named: &'static [(&'static str, &'static str)],
    /// Files of the interface, copied unchanged.
    interface: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../examples/tunlets/", $path))
    };
}

/// Project in C.
const C: Template = Template {
    named: &[
        (".gitignore", "/damping.so\n/test_damping\n"),
        ("Makefile", example!("damping-c/Makefile")),
        ("README.md", example!("damping-c/README.md")),
        ("damping.c", example!("damping-c/damping.c")),
        ("test_damping.c", example!("damping-c/test_damping.c")),
    ],
    interface: &[("sintonia_tunlet.h", example!("damping-c/sintonia_tunlet.h"))],
};

/// Project in Rust.
const RUST: Template = Template {
    named: &[
        (".gitignore", "/target\n"),
        ("Cargo.toml", example!("damping-rust/Cargo.toml")),
        ("README.md", example!("damping-rust/README.md")),
        ("src/lib.rs", example!("damping-rust/src/lib.rs")),
    ],
    interface: &[
        ("src/abi.rs", example!("damping-rust/src/abi.rs")),
        ("src/sintonia_tunlet.rs", example!("damping-rust/src/sintonia_tunlet.rs")),
        ("src/sintonia_tunlet/read.rs", example!("damping-rust/src/sintonia_tunlet/read.rs")),
    ],
};

impl Template {
    /// Files of the project `name`.
    fn files(&self, name: &str) -> Vec<(String, String)> {
        let library = format!("lib{}", name.replace('-', "_"));
        let rename =
            |text: &str| text.replace(&format!("lib{EXAMPLE}"), &library).replace(EXAMPLE, name);
        let named = self.named.iter().map(|(path, text)| (rename(path), rename(text)));
        let interface = self.interface.iter().map(|(path, text)| ((*path).into(), (*text).into()));
        named.chain(interface).collect()
    }
}
