//! A change to the program, checked beforehand, and carried out by a thread of the program.
//!
//! # Invariants
//! - Carrying out a change of a variable is one store: nothing is looked up, allocated or locked.
#![allow(unsafe_code, reason = "calls functions of the program")]

use super::memory::Variable;
use super::modules::Modules;
use super::problem::OrderError;
use crate::probes;
use events::{Value, ValueType};
use std::ffi::{CString, c_void};
use std::path::Path;
use wire::Answer;
use wire::control::{self, Location, Module, Replacement};

/// A change that can be carried out.
#[derive(Debug)]
pub(crate) enum Change {
    Set { variable: Variable, bits: u64 },
    Call { function: usize, registers: Registers, returns: Option<ValueType> },
    Load { path: CString },
    Replace { site: u32, by: Option<usize> },
}

/// What a change came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// The value before, 0 where there is none.
    pub(crate) old: u64,
    /// The value after, or what the function returned.
    pub(crate) new: u64,
    /// 0, or an `errno` of the system.
    pub(crate) failure: i32,
}

impl Change {
    /// Checks that it can be carried out.
    pub(crate) fn check(change: &control::Change, modules: &Modules) -> Result<Self, OrderError> {
        Ok(match change {
            control::Change::Set { at, kind, value } => Self::Set {
                variable: Variable::new(modules.data(*at, kind.n_bytes())?, *kind)?,
                bits: bits(*kind, *value)?,
            },
            control::Change::Call { function, arguments, returns } => Self::Call {
                function: modules.code(*function)?,
                registers: Registers::holding(arguments)?,
                returns: *returns,
            },
            control::Change::Load { path } => Self::Load { path: library(path)? },
            control::Change::Replace { site, by } => {
                Self::Replace { site: *site, by: replacement(by, modules)? }
            }
        })
    }

    /// The value that would change now.
    pub(crate) fn old(&self) -> u64 {
        if let Self::Set { variable, .. } = self { variable.load() } else { 0 }
    }

    /// Carries it out.
    pub(crate) fn carry_out(&self) -> Outcome {
        match self {
            Self::Set { variable, bits } => {
                let old = variable.load();
                variable.store(*bits);
                Outcome { old, new: *bits, failure: 0 }
            }
            Self::Call { function, registers, returns } => {
                Outcome { new: registers.call(*function, *returns), ..Outcome::default() }
            }
            Self::Load { path } => load(path),
            Self::Replace { site, by } => {
                let is_done = probes::instrument().is_some_and(|probes| probes.replace(*site, *by));
                let failure = if is_done { 0 } else { libc::ENOENT };
                Outcome { old: 0, new: by.unwrap_or(0) as u64, failure }
            }
        }
    }
}

/// What variables hold; those that cannot be set are left out.
pub(crate) fn read(modules: &[Module], variables: &[(u32, Location, ValueType)]) -> Answer {
    let modules = Modules::find(modules);
    let values = variables.iter().filter_map(|(number, at, kind)| {
        let address = modules.data(*at, kind.n_bytes()).ok()?;
        Some((*number, Variable::new(address, *kind).ok()?.load()))
    });
    Answer::Values { values: values.collect() }
}

fn bits(kind: ValueType, value: Value) -> Result<u64, OrderError> {
    kind.bits(value).ok_or(OrderError::DoesNotFit { value, kind })
}

fn library(path: &str) -> Result<CString, OrderError> {
    let missing = || OrderError::NoFile { path: path.to_owned() };
    if !Path::new(path).is_file() {
        return Err(missing());
    }
    CString::new(path).map_err(|_| missing())
}

fn load(path: &CString) -> Outcome {
    let failure = if open(path, libc::RTLD_GLOBAL).is_some() { 0 } else { libc::ELIBBAD };
    Outcome { failure, ..Outcome::default() }
}

/// Loads a library for good.
fn open(path: &CString, scope: i32) -> Option<*mut c_void> {
    // SAFETY: the user asks for this library; its constructors run here, as in the program's own call.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | scope) };
    forget_failure();
    (!handle.is_null()).then_some(handle)
}

fn forget_failure() {
    // SAFETY: takes the linker's last sentence, so that the program does not find it.
    let _forgotten = unsafe { libc::dlerror() };
}

fn replacement(by: &Replacement, modules: &Modules) -> Result<Option<usize>, OrderError> {
    match by {
        Replacement::Original => Ok(None),
        Replacement::Function(at) => modules.code(*at).map(Some),
        Replacement::Exported(name) => exported(name).map(Some),
    }
}

/// The address of `NAME`, or of `LIBRARY:NAME`, whose library is loaded for it.
fn exported(text: &str) -> Result<usize, OrderError> {
    let Some((path, name)) = text.split_once(':') else {
        let missing = || OrderError::NotExported { name: text.to_owned() };
        return symbol(libc::RTLD_DEFAULT, text).ok_or_else(missing);
    };
    let library = library(path)?;
    let handle = open(&library, libc::RTLD_LOCAL)
        .ok_or_else(|| OrderError::NoLibrary { path: path.to_owned() })?;
    symbol(handle, name)
        .ok_or_else(|| OrderError::NotInLibrary { path: path.to_owned(), name: name.to_owned() })
}

fn symbol(library: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: a look-up by name.
    let address: *mut c_void = unsafe { libc::dlsym(library, name.as_ptr()) };
    forget_failure();
    (!address.is_null()).then(|| address.addr())
}

/// The registers in which a function finds its arguments: rdi, rsi, rdx, rcx, r8, r9, and xmm0 to xmm7.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    integers: [u64; 6],
    floats: [f64; 8],
}

impl Registers {
    /// Puts arguments where the calling convention has them: each kind of register is filled in order.
    fn holding(arguments: &[(ValueType, Value)]) -> Result<Self, OrderError> {
        let mut registers = Self::default();
        let (mut n_integers, mut n_floats) = (0, 0);
        for (kind, value) in arguments {
            let bits = bits(*kind, *value)?;
            if kind.is_float() {
                let place = registers.floats.get_mut(n_floats);
                *place.ok_or(OrderError::TooManyArguments)? = f64::from_bits(bits);
                n_floats += 1;
            } else {
                let place = registers.integers.get_mut(n_integers);
                *place.ok_or(OrderError::TooManyArguments)? = widened(*kind, bits);
                n_integers += 1;
            }
        }
        Ok(registers)
    }

    /// Calls the function, which may take fewer arguments; what it returns as the bits of its type.
    fn call(&self, function: usize, returns: Option<ValueType>) -> u64 {
        type Function<T> = unsafe extern "C-unwind" fn(
            u64,
            u64,
            u64,
            u64,
            u64,
            u64,
            f64,
            f64,
            f64,
            f64,
            f64,
            f64,
            f64,
            f64,
        ) -> T;
        let [a, b, c, d, e, f] = self.integers;
        let [s, t, u, v, w, x, y, z] = self.floats;
        let address = std::ptr::with_exposed_provenance::<c_void>(function);
        let bits = if returns.is_some_and(ValueType::is_float) {
            // SAFETY: code of the program; the convention passes each kind of argument in registers of
            // its own, so a function that takes fewer finds its own in place.
            let call = unsafe { std::mem::transmute::<*const c_void, Function<f64>>(address) };
            // SAFETY: as above; that it may be called here, the user says.
            unsafe { call(a, b, c, d, e, f, s, t, u, v, w, x, y, z) }.to_bits()
        } else {
            // SAFETY: as above.
            let call = unsafe { std::mem::transmute::<*const c_void, Function<u64>>(address) };
            // SAFETY: as above.
            unsafe { call(a, b, c, d, e, f, s, t, u, v, w, x, y, z) }
        };
        returns.map_or(0, |kind| bits & mask(kind))
    }
}

/// Small integers fill their register, as compilers expect.
fn widened(kind: ValueType, bits: u64) -> u64 {
    match kind.value(bits) {
        Value::Int(whole) => whole.cast_unsigned(),
        _ => bits,
    }
}

fn mask(kind: ValueType) -> u64 {
    if kind.n_bytes() == 8 { u64::MAX } else { (1 << (8 * kind.n_bytes())) - 1 }
}
