//! Lookup of functions and variables in programs compiled here.

use crate::built::{Built, said};
use crate::compiled::run;
use events::CodeAddress;
use object::{Object, ObjectSection};
use std::process::Command;
use std::time::Duration;
use symbols::{LookupError, Passing, Program, ProgramError, Resolver};

const C: [&str; 2] = ["lookup.c", "other.c"];

#[track_caller]
fn check(program: &Program, name: &str, expected: &str) {
    assert_eq!(said(program.variable(name)), expected, "`{name}`");
}

#[track_caller]
fn check_error(program: &Program, name: &str, part: &str) {
    let said = said(program.variable(name));
    assert!(said.contains(part), "`{name}`: {said}");
}

/// Returns the address of a symbol according to `nm`.
#[track_caller]
fn address(built: &Built, symbol: &str) -> u64 {
    let text = run(Command::new("nm").arg(&built.path));
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(symbol));
    let word = line.and_then(|line| line.split_whitespace().next()).expect("the symbol");
    u64::from_str_radix(word, 16).expect("an address")
}

#[track_caller]
fn check_c_variables(flags: &[&str]) {
    let built = Built::new("gcc", flags, &C);
    let program = built.program();
    check(&program, "chunk", "int32 4 in .data");
    check(&program, "share", "double 8 in .data");
    check(&program, "watched", "int32 4 volatile in .data");
    check(&program, "small", "uint8 1 in .data");
    check(&program, "mode", "uint32 4 in .data");
    check(&program, "grid.rows", "int32 4 in .data");
    check(&program, "grid.step[2].dy", "double 8 in .data");
    check(&program, "grid.as_float", "float 4 in .data");
    check(&program, "table[1][2]", "float 4 in .bss");
    check(&program, "lookup.c:kept", "int32 4 static in .data");
    check(&program, "rounds::count", "int32 4 static in .bss");
    let at = |name: &str| program.variable(name).map(|found| found.address);
    assert_eq!(at("chunk"), Ok(address(&built, "chunk")));
    assert_eq!(at("grid.step[2].dy"), Ok(address(&built, "grid") + 8 + 2 * 16 + 8));
    assert_eq!(at("table[1][2]"), Ok(address(&built, "table") + 4 * 7));
    check_error(&program, "kept", "may be `lookup.c:kept` or `other.c:kept`");
    check_error(&program, "chunck", "is it `chunk`");
    check_error(&program, "limit", "read-only section `.rodata`");
    check_error(&program, "mine", "thread-local");
    check_error(&program, "where", "`where` is a pointer");
    check_error(&program, "grid.data[1]", "`grid.data` of `grid.data[1]` is a pointer");
    check_error(&program, "precise", "`precise` is a `long double`");
    check_error(&program, "grid", "such as `grid.rows`");
    check_error(&program, "grid.flag", "bit field of 3 bits");
    check_error(&program, "grid.row", "no member `row`");
    check_error(&program, "table", "such as `table[0]`");
    check_error(&program, "table[1]", "give 2 indices");
    check_error(&program, "table[4][0]", "no element 4: they go from 0 to 3");
    check_error(&program, "work", "is a function");
    check_error(&program, "a[", "is not a name");
    assert!(program.readable_variable("limit").is_ok_and(|found| !found.is_writable));
}

#[test]
fn variables_of_c_are_found() {
    check_c_variables(&["-g", "-O0"]);
    check_c_variables(&["-g", "-O2"]);
    check_c_variables(&["-g", "-O2", "-no-pie"]);
    check_c_variables(&["-g", "-O2", "-gdwarf-4"]);
    check_c_variables(&["-g", "-O2", "-gz"]);
    check_c_variables(&["-g", "-O2", "-gz=zlib-gnu"]);
    check_c_variables(&["-g", "-O2", "-fdebug-types-section"]);
    check_c_variables(&["-g", "-O1", "-static"]);
}

#[test]
fn a_variable_that_the_compiler_left_out_is_named() {
    let built = Built::new("gcc", &["-g", "-O2"], &C);
    let program = built.program();
    let folded = program.variable("folded");
    assert_eq!(folded, Err(LookupError::Folded("folded".into())));
}

/// Formats the registers of a function's arguments.
fn passing(program: &Program, name: &str) -> String {
    let function = program.function(name).expect("a function");
    let parameters = function.parameters.as_deref().expect("debug information");
    let each = parameters.iter().map(|parameter| {
        let place = match parameter.passing {
            Passing::Integer(n) => format!("i{n}"),
            Passing::Float(n) => format!("f{n}"),
            Passing::Stack(n) => format!("s{n}"),
            Passing::Parts => "-".to_owned(),
        };
        let by = if parameter.is_by_reference { "&" } else { "" };
        let kind = parameter.kind.map_or("?", events::ValueType::name);
        format!("{by}{}:{kind}:{place}", parameter.name)
    });
    each.collect::<Vec<_>>().join(" ")
}

#[test]
fn arguments_are_where_the_abi_puts_them() {
    for level in ["-O0", "-O2"] {
        let program = Built::new("gcc", &["-g", level], &C).program();
        let work = "n:int32:i0 x:double:f0 data:uint64:i1 p:?:- y:float:f3 m:?:- l:?:- c:int8:i3 how:uint32:i4";
        assert_eq!(passing(&program, "work"), work);
        assert_eq!(passing(&program, "make"), "n:int32:i1 z:?:- s:uint16:i2");
        let many = "a:int32:i0 b:int32:i1 c:int32:i2 d:int32:i3 e:int32:i4 f:int32:i5 g:int32:s0 \
                    h:double:f0 i:?:- j:int32:s1";
        assert_eq!(passing(&program, "many"), many);
        let returned = program.function("many").expect("a function").returns.clone();
        assert_eq!(returned.and_then(|returned| returned.kind), Some(events::ValueType::F64));
    }
}

#[track_caller]
fn check_function(program: &Program, name: &str, expected: &str) {
    let said = match program.function(name) {
        Ok(found) => format!("{} {}", found.symbol, found.n_inlined()),
        Err(error) => error.to_string(),
    };
    assert!(said.contains(expected), "`{name}`: {said}");
}

#[test]
fn functions_of_c_are_found() {
    let built = Built::new("gcc", &["-g", "-O2"], &C);
    let program = built.program();
    check_function(&program, "work", "work 0");
    check_function(&program, "easy", "easy 1");
    check_function(&program, "tiny", "inlined at 2 places, in `main` or `work`");
    check_function(&program, "other.c:narrow", "narrow 0");
    check_function(&program, "lookup.c:narrow", "`narrow.constprop.0`");
    check_function(&program, "narrow.constprop.0", "narrow.constprop.0");
    check_function(&program, "wrok", "is it `work`");
    check_function(&program, "chunk", "is a variable");
    let work = program.function("work").expect("a function");
    assert_eq!(work.address, address(&built, "work"));
    assert!(work.probeable().is_ok() && work.n_bytes <= work.n_bytes_to_next);
    let source = work.source.as_ref().expect("debug information");
    assert!(source.file.ends_with("programs/lookup.c") && source.line == 33, "{source:?}");
}

#[test]
fn what_is_not_called_has_no_probes() {
    let program = Built::new("g++", &["-g", "-O2"], &["split.cc"]).program();
    let part = program.functions().iter().find(|function| function.symbol.ends_with(".cold"));
    let why = part.and_then(|part| part.probeable().err()).map(|why| why.to_string());
    assert_eq!(why.as_deref(), Some("it is a part of `checked` that is jumped to, not called"));
    let start = program.function("_start").expect("a function").probeable();
    assert!(start.is_err_and(|why| why.to_string().contains("before the process is ready")));
    assert!(program.function("checked").is_ok_and(|function| function.probeable().is_ok()));
}

#[test]
fn names_of_cpp_are_found() {
    let built = Built::new("g++", &["-g", "-O2"], &["lookup.cc"]);
    let program = built.program();
    check(&program, "fire::rows", "int32 4 in .data");
    check(&program, "rows", "int32 4 in .data");
    check(&program, "fire::hidden", "int32 4 static in .data");
    check(&program, "fire::(anonymous namespace)::hidden", "int32 4 static in .data");
    check(&program, "fire::Front::limit", "double 8 in .data");
    check(&program, "Front::level", "int32 4 in .data");
    check(&program, "fire::front.width", "int32 4 in .data");
    check(&program, "fire::front.id", "int64 8 in .data");
    check(&program, "fire::Box<int>::content", "int32 4 in .data");
    check(&program, "_ZN4fire5Front5limitE", "double 8 in .data");
    check_error(&program, "fire::Front::fixed", "no place in memory");
    let both = "`fire::Front::advance(int)` or `fire::Front::advance(double) const`";
    check_function(&program, "fire::Front::advance", both);
    check_function(&program, "fire::Front::advance(int)", "_ZN4fire5Front7advanceEi");
    check_function(&program, "Front::advance(double) const", "_ZNK4fire5Front7advanceEd");
    check_function(&program, "fire::largest<double>", "_ZN4fire7largestIdEET_S1_S1_");
    check_function(&program, "largest", "`fire::largest<double>(double, double)`");
    assert_eq!(passing(&program, "fire::take"), "owner:?:- &n:int32:i1 flag:bool:i2");
    let parameters = passing(&program, "fire::Front::advance(int)");
    assert_eq!(parameters, "this:uint64:i0 n:int32:i1");
}

#[test]
fn names_of_fortran_are_found() {
    for level in ["-O0", "-O2"] {
        let built = Built::new("gfortran", &["-g", level], &["lookup.f90"]);
        let program = built.program();
        check(&program, "params::chunk", "int32 4 in .data");
        check(&program, "chunk", "int32 4 in .data");
        check(&program, "PARAMS::Share", "double 8 in .data");
        check(&program, "__params_MOD_flag", "int32 4 in .data");
        check(&program, "grid%rows", "int32 4 in .data");
        check(&program, "params::grid%dx(2)", "double 8 in .data");
        check(&program, "table(3, 1)", "int32 4 in .bss");
        check(&program, "shared::turns", "int32 4 in .bss");
        check(&program, "turns", "int32 4 in .bss");
        let at = |name: &str| program.variable(name).map(|found| found.address);
        assert_eq!(at("shared::turns"), Ok(address(&built, "shared_") + 8));
        let table = address(&built, "__params_MOD_table");
        assert_eq!(at("table(3,1)"), Ok(table + 4 * (1 + 4)));
        check_error(&program, "params::field", "an allocatable or pointer array");
        check_error(&program, "params::there", "a pointer");
        check_error(&program, "table(1,1)", "no element 1: they go from 2 to 5");
        check_function(&program, "params::step", "__params_MOD_step");
        check_function(&program, "step", "__params_MOD_step");
        check_function(&program, "SOLVE", "solve_");
        check_function(&program, "solve_", "solve_");
        let step = "&n:int32:i0 &x:double:i1 &label:?:i2 y:int32:i3 _label:int64:i4";
        assert_eq!(passing(&program, "params::step"), step);
    }
}

#[test]
fn a_variable_of_a_library_is_where_the_program_has_its_copy() {
    let built = Built::with_library(&["-g", "-O2", "-no-pie", "-fno-pic"]);
    let program = built.program();
    let factor = program.variable("shared_factor").expect("found");
    assert_eq!(factor.module.as_ref(), built.path);
    assert_eq!(factor.address, address(&built, "shared_factor"));
    assert_eq!(factor.kind, Some(events::ValueType::I32));
    let sides = program.variable("shape.sides").expect("found");
    assert!(sides.module.ends_with("libother.so"), "{sides:?}");
    let other = program.function("other").expect("found");
    assert!(other.module.ends_with("libother.so"), "{other:?}");
}

#[test]
fn names_of_a_library_that_is_loaded_later_are_found_last() {
    let (alone, other) =
        (Built::new("gcc", &["-g", "-O2"], &C), Built::with_library(&["-g", "-O2"]));
    let library = other.path.with_file_name("libother.so");
    let mut program = alone.program();
    let own = program.function("other").expect("found").module.clone();
    program.add_library(&library).expect("a library");
    assert_eq!(program.function("other").expect("found").module, own);
    let program = Program::open("/bin/sh".as_ref());
    let mut program = program.expect("a program");
    assert!(program.function("other").is_err());
    program.add_library(&library).expect("a library");
    let later = program.function("other").expect("found");
    assert!(later.module.ends_with("libother.so"), "{later:?}");
    assert!(program.variable("shape.sides").is_ok());
    assert!(program.add_library("/none/lib.so".as_ref()).is_err());
}

#[test]
fn a_stripped_program_says_so_unless_its_debug_file_is_there() {
    let built = Built::new("gcc", &["-g", "-O2"], &C);
    let debug = built.path.with_extension("debug");
    let debug = debug.to_str().expect("text");
    run(Command::new("objcopy").arg("--only-keep-debug").arg(&built.path).arg(debug));
    let expected = address(&built, "chunk");
    built.tool("strip", &["--strip-all"]);
    let program = built.program();
    assert!(program.is_stripped() && !program.has_debug_info());
    check_error(&program, "chunk", "is stripped");
    check_function(&program, "work", "is stripped");
    built.tool("objcopy", &[&format!("--add-gnu-debuglink={debug}")]);
    let program = built.program();
    assert!(program.is_stripped() && program.has_debug_info());
    assert_eq!(program.variable("chunk").map(|found| found.address), Ok(expected));
    check(&program, "grid.rows", "int32 4 in .data");
    check_function(&program, "work", "work 0");
}

#[test]
fn without_debug_information_whole_variables_are_found() {
    let program = Built::new("gcc", &["-O2"], &C).program();
    check(&program, "chunk", "? 4 in .data");
    check_error(&program, "grid.rows", "no debug information");
    check_function(&program, "work", "work 0");
    assert_eq!(program.function("work").expect("a function").parameters, None);
}

#[test]
fn what_a_program_is_like_is_said() {
    let program = Built::new("gcc", &["-g", "-O0", "-static"], &C).program();
    assert!(program.is_static() && !program.is_stripped() && program.has_debug_info());
    let program = Built::new("gcc", &["-O0", "-Wl,--build-id=sha1"], &C).program();
    assert!(!program.is_static() && !program.has_debug_info());
    assert_eq!(program.build_id().len(), 20);
    assert!(!program.is_profiled());
    assert!(Built::new("gcc", &["-O0", "-pg"], &C).program().is_profiled());
    let dir = tempfile::tempdir().expect("a temporary folder");
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").expect("written");
    assert!(matches!(Program::open(&script), Err(ProgramError::NotElf { .. })));
    let absent = Program::open(&dir.path().join("absent"));
    assert!(matches!(absent, Err(ProgramError::Open { .. })));
}

/// Regression: for a header of 24 bytes that stated three gigabytes of packed data, all that memory was allocated and
/// written.
#[test]
fn sections_that_cannot_be_as_long_as_they_say_are_not_unpacked() {
    let built = Built::new("gcc", &["-g", "-gz"], &C);
    assert!(built.program().has_debug_info());
    let mut bytes = std::fs::read(&built.path).expect("a program");
    let file = object::File::parse(bytes.as_slice()).expect("a program");
    let section = file.section_by_name(".debug_info").expect("debug information");
    let packed = section.compressed_file_range().expect("a packed section");
    // The last two numbers of the header: the length, and the alignment.
    let length = usize::try_from(packed.offset).expect("a small file") - 16;
    bytes[length..][..8].copy_from_slice(&(3_u64 << 30).to_le_bytes());
    std::fs::write(&built.path, bytes).expect("written");
    assert!(!built.program().has_debug_info());
}

/// Regression: the names of mapped files come from memory that the process may overwrite; reading a pipe under the
/// name of a module never ended.
#[test]
fn a_pipe_is_no_module() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("`mkfifo`").success());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let module = pipe.to_str().expect("a plain name");
        let place = Resolver::new().place_of_return(&CodeAddress { module, file_offset: 64 });
        tell.send((Program::open(&pipe).err(), place)).expect("somebody waits");
    });
    let (error, place) = told.recv_timeout(Duration::from_secs(30)).expect("nothing waits");
    assert!(matches!(error, Some(ProgramError::Open { .. })), "{error:?}");
    assert_eq!((place.function.as_str(), place.line), ("", 0));
}
