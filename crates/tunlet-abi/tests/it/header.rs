//! The header is what `abi.rs` says, and compilers take it.

use crate::library::{repository, run};
use std::process::Command;

const HEADER: &str = "crates/tunlet-abi/include/sintonia_tunlet.h";
const ABOUT: &str = "/* The interface between Sintonia and a tunlet in a shared library, version 1.
 *
 * A library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then `begin`,
 * then `hear` for whatever happens, then `destroy`, all from one thread. Texts are UTF-8 and end with a zero
 * byte. What a host passes is valid until the called function returns, the description until `destroy`
 * returns; what a tunlet returns in `sintonia_tunlet` stays valid for good.
 *
 * Made from crates/tunlet-abi/src/abi.rs; a test says how. */";

fn generated() -> String {
    let style = cbindgen::DocumentationStyle::C99;
    let config = cbindgen::Config { documentation_style: style, ..cbindgen::Config::default() };
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(repository("crates/tunlet-abi/src/abi.rs"))
        .with_language(cbindgen::Language::C)
        .with_cpp_compat(true)
        .with_header(format!("{ABOUT}\n#ifndef SINTONIA_TUNLET_H\n#define SINTONIA_TUNLET_H"))
        .with_documentation(true)
        .with_no_includes()
        .with_sys_include("stdbool.h")
        .with_sys_include("stddef.h")
        .with_sys_include("stdint.h")
        .with_tab_width(2)
        .with_line_length(100)
        .with_trailer(include_str!("helpers.h"))
        .include_item("sintonia_tunlet")
        .generate()
        .expect("a header");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("text")
}

#[test]
fn the_header_is_up_to_date() {
    let place = repository(HEADER);
    let generated = generated();
    if std::env::var_os("SINTONIA_WRITE_HEADER").is_some() {
        std::fs::write(&place, &generated).expect("the header");
    }
    let written = std::fs::read_to_string(&place).expect("the header");
    assert!(
        written == generated,
        "run `SINTONIA_WRITE_HEADER=1 cargo test -p tunlet-abi header` and commit `{HEADER}`"
    );
}

#[track_caller]
fn check(compiler: &str, standard: &str, language: &str) {
    let dir = tempfile::tempdir().expect("a folder");
    let source = dir.path().join("source");
    let text = "#include \"sintonia_tunlet.h\"\n#include \"sintonia_tunlet.h\"\n\
        double twice(int64_t n);\n\
        double twice(int64_t n) { return 2 * sintonia_as_double(sintonia_int(n)) + sintonia_as_double(sintonia_float(0.5)); }\n";
    std::fs::write(&source, text).expect("a file");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", standard]);
    command.args(["-x", language]).arg(source).arg("-I");
    run(command.arg(repository("crates/tunlet-abi/include")));
}

#[test]
fn compilers_take_it() {
    check("cc", "-std=c11", "c");
    check("c++", "-std=c++17", "c++");
}
