//! The information contained in a program is found after its symbols were removed.

use crate::built::Built;
use crate::compiled::have;

#[track_caller]
fn check(flags: &[&str]) {
    let built = Built::new("gcc", &[&["-O1"], flags].concat(), &["carried.c"]);
    let step = built.program().function("step").expect("it has symbols").clone();
    built.tool("strip", &["--strip-all"]);
    let program = built.program();
    let (path, text) = program.description().expect("it carries one");
    assert_eq!((path, text.as_str()), (built.path.as_path(), "format = 1"));
    let carried = program.function("carried_step").expect("it is named");
    assert_eq!((carried.address, carried.n_bytes), (step.address, step.n_bytes));
    assert!(carried.probeable().is_ok() && carried.n_bytes_to_next < 256, "{carried:?}");
    let [wish, share] =
        ["carried_wish", "carried_share"].map(|name| program.variable(name).expect("it is named"));
    assert_eq!((wish.n_bytes, wish.section.as_str()), (4, ".data"));
    assert_eq!((share.n_bytes, share.section.as_str()), (8, ".bss"));
    assert!(program.function("main").is_err());
}

#[test]
fn a_stripped_program_still_says_what_it_is() {
    check(&[]);
    check(&["-no-pie"]);
    check(&["-Wl,--gc-sections", "-ffunction-sections"]);
    check(&["-Wl,-z,pack-relative-relocs"]);
    if have("ld.gold") {
        check(&["-fuse-ld=gold"]);
    }
}

#[test]
fn most_programs_say_nothing() {
    let program = Built::with_library(&[]).program();
    assert_eq!(program.description(), None);
}
