//! Place where a thread on this node is, read from outside: for a rank that computes for long, or that has been in an
//! MPI call since before it was watched.
//!
//! The stack is searched for return addresses: words that point behind a call instruction in the program. A word left
//! over from an earlier call may be mistaken for one.

use events::{CodeAddress, ModuleMap};
use run_record::summary::SourceLocation;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use symbols::Resolver;

/// Number of places in the program that are told.
const N_PLACES_MAX: usize = 3;
/// Starts of the names of libraries whose calls are not the program's.
const SYSTEM_LIBRARIES: [&str; 12] = [
    "libmpi",
    "libmpich",
    "libopen-",
    "libsintonia",
    "libc.",
    "libc-",
    "ld-linux",
    "libpthread",
    "libucp",
    "libuct",
    "libfabric",
    "libpmi",
];

/// Returns in words where a thread is: the MPI function, if it is in one, and the places in the program.
pub(crate) fn place(pid: i32, tid: i32, resolver: &mut Resolver) -> Option<String> {
    let stack = inject::stack(pid, tid).ok()?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let (map, _problems) = ModuleMap::parse(&maps);
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let is_return = |word: &&u64| map.locate(**word).is_some() && follows_call(&memory, **word);
    let returns = stack.words.iter().filter(is_return);
    // The instruction itself is looked up as if it followed a call.
    let first = [stack.instruction.wrapping_add(1)];
    let addresses = first.iter().chain(returns);
    let (mut function, mut places) = (None, Vec::new());
    for at in addresses.filter_map(|address| map.locate(*address)) {
        let is_in_program = is_of_program(&at);
        if !is_in_program && !places.is_empty() {
            continue;
        }
        let location = resolver.place_of_return(&at);
        if is_in_program {
            places.push(words(&location));
        } else if let Some(name) = mpi_function(&location) {
            function = Some(name);
        }
        if places.len() == N_PLACES_MAX {
            break;
        }
    }
    places.dedup();
    let places = places.join(", called at ");
    match function {
        _ if places.is_empty() => None,
        Some(function) => Some(format!("in {function}, called at {places}")),
        None => Some(format!("at {places}")),
    }
}

fn is_of_program(at: &CodeAddress<'_>) -> bool {
    let name = at.module.rsplit('/').next().unwrap_or(at.module);
    at.is_in_file() && !SYSTEM_LIBRARIES.iter().any(|start| name.starts_with(start))
}

/// Returns the name of an MPI function as programs call it.
fn mpi_function(location: &SourceLocation) -> Option<String> {
    let name = location.function.strip_prefix('P').unwrap_or(&location.function);
    name.starts_with("MPI_").then(|| name.to_owned())
}

fn words(location: &SourceLocation) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let place = match location.file.is_empty() {
        false => format!("{}:{}", last(&location.file), location.line),
        true => format!("{}+{:#x}", last(&location.module), location.offset),
    };
    match location.function.is_empty() {
        false => format!("{place} ({})", location.function),
        true => place,
    }
}

/// Returns whether an address follows a call instruction of the x86-64.
fn follows_call(memory: &File, address: u64) -> bool {
    const N_BYTES: usize = 7;
    let mut bytes = [0; N_BYTES];
    let start =
        address.checked_sub(N_BYTES as u64).filter(|start| (1 << 12..1 << 47).contains(start));
    let is_read = start.is_some_and(|start| memory.read_exact_at(&mut bytes, start).is_ok());
    // `call` with a distance; through a register or memory, with 0, 1 or 4 bytes of displacement.
    let through = |n: usize| bytes[N_BYTES - n] == 0xff && bytes[N_BYTES - n + 1] & 0x38 == 0x10;
    is_read && (bytes[2] == 0xe8 || through(2) || through(3) || through(6) || through(7))
}
