//! Functions, their stubs and counters, in memory with a fixed layout.

use instrument::Refusal;
use instrument::live::{self, Patch};
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Distance between functions; their first bytes cover every offset in a cache line.
const FUNCTION_BYTES: usize = 61;
const STUB_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;
const JMP_BYTES: usize = 5;
/// Distance from a jump to its stub: decoded as code, its second and third byte are not an instruction, so that a
/// thread that runs into them does not continue by chance.
const FIRST_DISTANCE: usize = 0x6_0600;

/// Instructions, of which the first are displaced.
pub(crate) struct Code {
    displaced: &'static [&'static [u8]],
    rest: Vec<u8>,
}

/// `2 * x + number`, with five bytes of three instructions at its start.
pub(crate) fn quick(number: usize) -> Code {
    let mut rest = vec![0x48, 0x8d, 0x84, 0x1f]; // lea rax, [rdi + rbx + number]
    rest.extend(u32::try_from(number).expect("it is small").to_le_bytes());
    rest.extend([0x59, 0x5b, 0xc3]); // pop rcx; pop rbx; ret
    // push rbx; mov rbx, rdi; push rcx
    Code { displaced: &[&[0x53], &[0x48, 0x89, 0xfb], &[0x51]], rest }
}

/// Reads `rdx` bytes at `rsi` and returns the address after them; nearly always within its second instruction.
pub(crate) fn long() -> Code {
    // mov ecx, edx; rep lodsb; nop; mov rax, rsi; ret
    Code { displaced: &[&[0x89, 0xd1], &[0xf3, 0xac], &[0x90]], rest: vec![0x48, 0x89, 0xf0, 0xc3] }
}

/// Calls `nanosleep` with the time that `rdi` points to, without the C library.
pub(crate) fn nap() -> Code {
    // push rsi; pop rsi; xor esi, esi; nop; mov eax, 35; syscall; ret
    let rest = vec![0x90, 0xb8, 35, 0, 0, 0, 0x0f, 0x05, 0xc3];
    Code { displaced: &[&[0x56], &[0x5e], &[0x31, 0xf6], &[0x90]], rest }
}

/// Code with a patch for each function; its stub counts passages.
pub(crate) struct Arena {
    pub(crate) patches: Vec<Patch>,
    originals: Vec<Vec<u8>>,
    counters: usize,
}

impl Arena {
    pub(crate) fn new(functions: &[Code]) -> Self {
        let n_pages = |bytes: usize| bytes.div_ceil(PAGE_BYTES) * PAGE_BYTES;
        let code_bytes = PAGE_BYTES - 2 + JMP_BYTES + FIRST_DISTANCE;
        assert!(functions.len() * FUNCTION_BYTES + PAGE_BYTES <= code_bytes);
        let stub_bytes = n_pages(functions.len() * STUB_BYTES);
        let counter_bytes = n_pages(functions.len() * 8);
        let stub_bytes = n_pages(code_bytes + stub_bytes) - code_bytes;
        let start = map(code_bytes + stub_bytes + counter_bytes);
        let counters = start + code_bytes + stub_bytes;
        let mut arena = Self { patches: Vec::new(), originals: Vec::new(), counters };
        for (idx, code) in functions.iter().enumerate() {
            // The first functions cross the end of a page.
            let address = start + PAGE_BYTES - 2 + idx * FUNCTION_BYTES;
            let stub = start + code_bytes + idx * STUB_BYTES;
            arena.add(code, address, stub);
        }
        protect(start, code_bytes + stub_bytes);
        arena
    }

    fn add(&mut self, code: &Code, address: usize, stub: usize) {
        let original: Vec<u8> = code.displaced.concat();
        write(address, &[original.as_slice(), &code.rest].concat());
        let mut bytes = vec![0xf0, 0x48, 0xff, 0x05]; // lock inc qword ptr [counter]
        let counter = self.counters + self.patches.len() * 8;
        bytes.extend(distance(stub + 8, counter));
        let mut moved = Vec::new();
        let mut displaced = address;
        for instruction in code.displaced {
            moved.push((displaced, stub + bytes.len()));
            displaced += instruction.len();
            bytes.extend(*instruction);
        }
        bytes.extend(jmp(stub + bytes.len(), address + original.len()));
        write(stub, &bytes);
        let mut replacement = jmp(address, stub);
        replacement.resize(original.len(), 0x90);
        self.originals.push([original.as_slice(), &code.rest].concat());
        self.patches.push(Patch { address, original, replacement, stub, moved });
    }

    /// Makes all changes.
    pub(crate) fn apply(&self) -> Vec<Result<(), Refusal>> {
        // SAFETY: the stubs do what the functions do.
        unsafe { live::apply(&self.patches) }
    }

    /// Takes all changes back.
    pub(crate) fn revert(&self) -> Vec<Result<(), Refusal>> {
        // SAFETY: the stubs do what the functions do.
        unsafe { live::revert(&self.patches) }
    }

    #[track_caller]
    pub(crate) fn check_change_and_back(&self) {
        assert!(self.apply().iter().all(Result::is_ok));
        assert!(self.revert().iter().all(Result::is_ok));
    }

    /// Puts a trap that stays on the first function.
    pub(crate) fn trap(&self) -> Result<Patch, Refusal> {
        let Patch { address, stub, .. } = self.patches[0];
        // SAFETY: the stub does what the function does.
        unsafe { live::trap_at(address, stub) }
    }

    /// Calls the function.
    pub(crate) fn call(&self, idx: usize, arguments: [usize; 3]) -> usize {
        let address = without_provenance_mut::<u8>(self.patches[idx].address);
        // SAFETY: a function of three words and a result lies there.
        let function = unsafe {
            std::mem::transmute::<*mut u8, extern "C" fn(usize, usize, usize) -> usize>(address)
        };
        function(arguments[0], arguments[1], arguments[2])
    }

    /// Number of passages of a stub.
    pub(crate) fn n_counted(&self, idx: usize) -> u64 {
        let place = std::ptr::with_exposed_provenance_mut(self.counters + idx * 8);
        // SAFETY: a counter lies there for the life of the process.
        unsafe { AtomicU64::from_ptr(place) }.load(Ordering::Relaxed)
    }

    /// Returns whether a function has its original bytes.
    pub(crate) fn is_original(&self, idx: usize) -> bool {
        read(self.patches[idx].address, self.originals[idx].len()) == self.originals[idx]
    }
}

fn map(n_bytes: usize) -> usize {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory, which stays for the life of the process.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), n_bytes, protection, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place.expose_provenance()
}

fn protect(start: usize, n_bytes: usize) {
    let place = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: memory of this arena, which from now on only the code under test writes.
    let answer = unsafe { libc::mprotect(place, n_bytes, libc::PROT_READ | libc::PROT_EXEC) };
    assert_eq!(answer, 0);
}

fn write(address: usize, bytes: &[u8]) {
    let place = std::ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: memory of this arena, still writable.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}

fn read(address: usize, n_bytes: usize) -> Vec<u8> {
    let byte = |idx| std::ptr::with_exposed_provenance::<u8>(address + idx);
    // SAFETY: memory of this arena.
    (0..n_bytes).map(|idx| unsafe { byte(idx).read_volatile() }).collect()
}

fn jmp(from: usize, to: usize) -> Vec<u8> {
    [&[0xe9], distance(from + JMP_BYTES, to).as_slice()].concat()
}

fn distance(from: usize, to: usize) -> [u8; 4] {
    let distance = to.cast_signed() - from.cast_signed();
    i32::try_from(distance).expect("an arena is small").to_le_bytes()
}
