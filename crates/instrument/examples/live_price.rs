//! What it costs to change one place while threads run: `cargo run --release --example live_price`.
//!
//! Threads call a function without a break; it is changed and changed back again and again.
#![allow(unsafe_code, reason = "calls a function assembled by hand")]
#![allow(clippy::print_stdout, reason = "prints what it measures")]

use instrument::live::{self, Patch};
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

const N_ROUNDS: usize = 2_000;
const PAGE_BYTES: usize = 4096;
const STUB: usize = 256;
/// `push rbx; mov rbx, rdi; push rcx`: what a change displaces.
const DISPLACED: [u8; 5] = [0x53, 0x48, 0x89, 0xfb, 0x51];
/// `lea rax, [rdi + rbx]; pop rcx; pop rbx; ret`.
const REST: [u8; 7] = [0x48, 0x8d, 0x04, 0x1f, 0x59, 0x5b, 0xc3];

fn main() -> Result<(), Box<dyn Error>> {
    live::start()?;
    let patch = assemble()?;
    println!("busy threads   in: median    p90    p99 us   out: median    p90    p99 us");
    for n_threads in [0, 1, 2, 4] {
        let (mut in_us, mut out_us) = measure(&patch, n_threads)?;
        println!("{n_threads:>12}   {}   {}", quantiles(&mut in_us), quantiles(&mut out_us));
    }
    println!("{:?}", live::encounters());
    Ok(())
}

fn measure(patch: &Patch, n_threads: usize) -> Result<(Vec<f64>, Vec<f64>), Box<dyn Error>> {
    let is_over = AtomicBool::new(false);
    let n_ready = AtomicU32::new(0);
    let patches = std::slice::from_ref(patch);
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| {
                n_ready.fetch_add(1, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(call(patch, 21), 42);
                }
            });
        }
        while (n_ready.load(Ordering::Relaxed) as usize) < n_threads {
            thread::yield_now();
        }
        let (mut in_us, mut out_us) = (Vec::new(), Vec::new());
        let outcome = (0..N_ROUNDS).try_for_each(|_| {
            // SAFETY: the stub does what the function does.
            in_us.push(timed_us(|| unsafe { live::apply(patches) })?);
            // SAFETY: as above.
            out_us.push(timed_us(|| unsafe { live::revert(patches) })?);
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        outcome.map(|()| (in_us, out_us))
    })
}

type Outcomes = Vec<Result<(), instrument::Refusal>>;

fn timed_us(change: impl Fn() -> Outcomes) -> Result<f64, Box<dyn Error>> {
    let before = Instant::now();
    let outcomes = change();
    let us = before.elapsed().as_secs_f64() * 1e6;
    outcomes.into_iter().collect::<Result<(), _>>()?;
    Ok(us)
}

fn quantiles(us: &mut [f64]) -> String {
    us.sort_by(f64::total_cmp);
    let at = |percent: usize| us[(us.len() - 1) * percent / 100];
    format!("{:>10.1} {:>6.0} {:>9.0}", at(50), at(90), at(99))
}

fn call(patch: &Patch, argument: usize) -> usize {
    let place = std::ptr::with_exposed_provenance::<u8>(patch.address);
    // SAFETY: a function of one word lies there.
    let function =
        unsafe { std::mem::transmute::<*const u8, extern "C" fn(usize) -> usize>(place) };
    function(argument)
}

/// A function and a stub that does nothing more, on one page.
fn assemble() -> Result<Patch, Box<dyn Error>> {
    let address = map()?;
    let stub = address + STUB;
    write(address, &[DISPLACED.as_slice(), &REST].concat());
    write(stub, &[DISPLACED.as_slice(), &jmp(stub + DISPLACED.len(), address + 5)?].concat());
    protect(address)?;
    Ok(Patch {
        address,
        original: DISPLACED.to_vec(),
        replacement: jmp(address, stub)?,
        stub,
        moved: [0, 1, 4].map(|offset| (address + offset, stub + offset)).to_vec(),
    })
}

fn jmp(from: usize, to: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let distance = i32::try_from(to.cast_signed() - from.cast_signed() - 5)?;
    Ok([&[0xe9], distance.to_le_bytes().as_slice()].concat())
}

fn map() -> Result<usize, Box<dyn Error>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, which stays for the life of the process.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, -1, 0) };
    if place == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(place.expose_provenance())
}

fn protect(address: usize) -> Result<(), Box<dyn Error>> {
    let place = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the page of the function.
    let answer = unsafe { libc::mprotect(place, PAGE_BYTES, libc::PROT_READ | libc::PROT_EXEC) };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().into()) }
}

fn write(address: usize, bytes: &[u8]) {
    let place = std::ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: the page of the function, still writable.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}
