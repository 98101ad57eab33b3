//! The header is up to date with `abi.rs`, and compilers accept it.

use c_header::{CHeader, repository};

const HEADER: CHeader<'static> =
    CHeader { package: "tunlet-abi", path: "crates/observe/tunlet-abi/include/sintonia_tunlet.h" };
const ABOUT: &str = "/* The interface between Sintonia and a tunlet in a shared library, version 1.
 *
 * A library exports `const sintonia_tunlet *sintonia_tunlet_v1(void)`. The host calls `create`, then `begin`,
 * then `hear` for whatever happens, then `destroy`, all from one thread. Texts are UTF-8 and end with a zero
 * byte. What a host passes is valid until the called function returns, the description until `destroy`
 * returns; what a tunlet returns in `sintonia_tunlet` stays valid for good.
 *
 * Made from crates/observe/tunlet-abi/src/abi.rs; a test says how. */";

#[test]
fn the_header_is_up_to_date() {
    let builder = c_header::builder("SINTONIA_TUNLET_H", ABOUT)
        .with_src(repository("crates/observe/tunlet-abi/src/abi.rs"))
        .with_line_length(100)
        .with_trailer(include_str!("helpers.h"))
        .include_item("sintonia_tunlet");
    HEADER.expect(&c_header::text(builder));
}

#[test]
fn compilers_take_it() {
    let text = "#include \"sintonia_tunlet.h\"\n#include \"sintonia_tunlet.h\"\n\
        double twice(int64_t n);\n\
        double twice(int64_t n) { return 2 * sintonia_as_double(sintonia_int(n)) + sintonia_as_double(sintonia_float(0.5)); }\n";
    HEADER.accept("cc", &["-pedantic", "-std=c11"], "a.c", text);
    HEADER.accept("c++", &["-pedantic", "-std=c++17"], "a.cc", text);
}
