//! Makes the files of a project from `examples/tunlets/`.

/// Name that the examples have.
const EXAMPLE: &str = "damping";

/// Paths inside the project, with their texts.
#[derive(Clone, Copy)]
pub(super) struct Template {
    /// Files that contain the name.
    named: &'static [(&'static str, &'static str)],
    /// Files of the interface, copied unchanged.
    interface: &'static [(&'static str, &'static str)],
}

macro_rules! example {
    ($path:literal) => {
        include_str!(concat!("../../../../../examples/tunlets/", $path))
    };
}

/// Project in C.
pub(super) const C: Template = Template {
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
pub(super) const RUST: Template = Template {
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
    pub(super) fn files(&self, name: &str) -> Vec<(String, String)> {
        let library = format!("lib{}", name.replace('-', "_"));
        let rename =
            |text: &str| text.replace(&format!("lib{EXAMPLE}"), &library).replace(EXAMPLE, name);
        let named = self.named.iter().map(|(path, text)| (rename(path), rename(text)));
        let interface = self.interface.iter().map(|(path, text)| ((*path).into(), (*text).into()));
        named.chain(interface).collect()
    }
}
