//! Generates headers of C interfaces from Rust sources, for tests that compare them with those in the repository.
//!
//! ```no_run
//! use c_header::CHeader;
//!
//! let header = CHeader { package: "tunlet-abi", path: "crates/observe/tunlet-abi/include/sintonia_tunlet.h" };
//! let made = c_header::builder("SINTONIA_TUNLET_H", "/* About it. */").with_src("abi.rs");
//! header.expect(&c_header::text(made));
//! ```

#![expect(clippy::missing_panics_doc, reason = "a harness of tests fails by panicking")]

pub use cbindgen::Builder;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Header in the repository.
#[derive(Debug, Clone, Copy)]
pub struct CHeader<'a> {
    /// Crate whose test generates it.
    pub package: &'a str,
    /// Path in the repository.
    pub path: &'a str,
}

impl CHeader<'_> {
    /// Panics if the header in the repository differs from `made`; with `SINTONIA_WRITE_HEADER` set, writes it first.
    #[track_caller]
    pub fn expect(&self, made: &str) {
        let place = repository(self.path);
        if std::env::var_os("SINTONIA_WRITE_HEADER").is_some() {
            std::fs::write(&place, made).expect("the header");
        }
        let Self { package, path } = self;
        assert!(
            std::fs::read_to_string(&place).expect("the header") == made,
            "run `SINTONIA_WRITE_HEADER=1 cargo test -p {package} header` and commit `{path}`"
        );
    }

    /// Folder of the header.
    fn folder(&self) -> PathBuf {
        repository(self.path).parent().expect("a file lies in a folder").to_owned()
    }

    /// Text of a header that is made of these sources of its crate, without sections for people who write Rust.
    #[must_use]
    pub fn made_of(&self, builder: Builder, sources: &[&str]) -> String {
        let folder = self.folder().join("../src");
        let paths = sources.iter().map(|source| folder.join(source).with_extension("rs"));
        let text = text(paths.fold(builder, Builder::with_src));
        without_safety(&text.split_inclusive('\n').collect::<Vec<_>>())
    }

    /// Panics unless a compiler accepts a source file of this text, and as little as a warning is an error.
    #[track_caller]
    pub fn accept(&self, compiler: &str, options: &[&str], name: &str, text: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join(name);
        std::fs::write(&source, text).expect("a file");
        let mut command = Command::new(compiler);
        command.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).args(options);
        command.arg("-I").arg(self.folder()).arg(source);
        run(&mut command);
    }
}

/// Removes the sections `# Safety`, up to the end of a comment.
fn without_safety(lines: &[&str]) -> String {
    let mut is_left_out = false;
    let mut kept = String::new();
    for (place, line) in lines.iter().enumerate() {
        let follows = lines.get(place + 1).is_some_and(|next| next.trim() == "// # Safety");
        is_left_out = line.starts_with("//") && (is_left_out || follows && line.trim() == "//");
        if !is_left_out {
            kept.push_str(line);
        }
    }
    kept
}

/// Runs a command that must succeed; returns its output.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}

/// Path of a file of this repository.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

/// Settings that all headers share: C that C++ accepts, too, comments of both languages, three standard headers.
#[must_use]
pub fn builder(guard: &str, about: &str) -> Builder {
    let style = cbindgen::DocumentationStyle::C99;
    let usual = cbindgen::Config::default();
    let config = cbindgen::Config { documentation_style: style, usize_is_size_t: true, ..usual };
    let standard = ["stdbool.h", "stddef.h", "stdint.h"];
    let builder = Builder::new()
        .with_config(config)
        .with_language(cbindgen::Language::C)
        .with_cpp_compat(true)
        .with_header(format!("{about}\n#ifndef {guard}\n#define {guard}"))
        .with_documentation(true)
        .with_no_includes()
        .with_tab_width(2);
    standard.into_iter().fold(builder, Builder::with_sys_include)
}

/// Text of a header.
#[must_use]
pub fn text(builder: Builder) -> String {
    let mut bytes = Vec::new();
    builder.generate().expect("a header").write(&mut bytes);
    String::from_utf8(bytes).expect("text")
}
