//! Generates headers of C interfaces from Rust sources, for tests that compare them with those in the repository.
//!
//! ```no_run
//! use c_header::Header;
//!
//! let header = Header { package: "tunlet-abi", path: "crates/observe/tunlet-abi/include/sintonia_tunlet.h" };
//! let made = c_header::builder("SINTONIA_TUNLET_H", "/* About it. */").with_src("abi.rs");
//! header.expect(&c_header::text(made));
//! ```
//!
//! # Not here
//! Testing that compilers accept a header: the crate of the header, which knows the standards that it promises.

#![expect(clippy::missing_panics_doc, reason = "a harness of tests fails by panicking")]

pub use cbindgen::Builder;
use std::path::{Path, PathBuf};

/// Header in the repository.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    /// Crate whose test generates it.
    pub package: &'a str,
    /// Path in the repository.
    pub path: &'a str,
}

impl Header<'_> {
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
