//! A change to the program: checked, made ready once all ranks can do it, and carried out by a thread of the
//! program.
//!
//! # Invariants
//! - Checking a change runs no code of the program or of a library: another rank may refuse it.
//! - Carrying out a change of a variable is one store: nothing is looked up, allocated or locked.
#![allow(unsafe_code, reason = "calls functions of the program")]

use super::library::{LoadedLibrary, symbol};
use super::modules::Modules;
use super::problem::OrderError;
use super::reached::{Objects, ReachedNumber};
use super::variable::{ChangeOutcome, Variable};
use crate::{levers, probes};
use events::{Lever, Value, ValueType};
use instrument::Passage;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::OrderAnswer;
use wire::control::{self, Location, Module, Replacement};

/// Checked change, ready to be carried out.
#[derive(Debug)]
pub(crate) enum CheckedChange {
    Set { variable: Variable, bits: u64 },
    Call { function: usize, registers: Registers, returns: Option<ValueType> },
    Load { library: LoadedLibrary },
    Replace { site: u32, by: ReplacementFunction },
    Lever { lever: Lever, value: i64 },
    SetReached { number: ReachedNumber, bits: u64 },
}

/// Replacement of a function.
#[derive(Debug)]
pub(crate) enum ReplacementFunction {
    /// The original function.
    Original,
    /// A function at this address.
    Function(usize),
    /// A function of a library; its address is 0 until the library is loaded.
    InLibrary { library: LoadedLibrary, name: String, address: AtomicUsize },
}

impl CheckedChange {
    /// Checks that the change can be carried out.
    pub(crate) fn check(
        change: &control::ActionEffect,
        modules: &Modules,
        objects: &mut Objects,
    ) -> Result<Self, OrderError> {
        Ok(match change {
            control::ActionEffect::Set { at, kind, value } => Self::Set {
                variable: Variable::new(modules.data(*at, kind.n_bytes())?, *kind)?,
                bits: bits(*kind, *value)?,
            },
            control::ActionEffect::Call { function, arguments, returns } => Self::Call {
                function: modules.code(*function)?,
                registers: Registers::holding(arguments)?,
                returns: *returns,
            },
            control::ActionEffect::Load { path } => {
                Self::Load { library: LoadedLibrary::find(path)? }
            }
            control::ActionEffect::Replace { site, by } => {
                Self::Replace { site: *site, by: ReplacementFunction::find(by, modules)? }
            }
            control::ActionEffect::Lever { lever, value } => {
                let (lever, value) = (*lever, *value);
                levers::check(lever, value)
                    .map_err(|reason| OrderError::Lever { lever, reason })?;
                Self::Lever { lever, value }
            }
            control::ActionEffect::SetReached { way, kind, value } => Self::SetReached {
                number: ReachedNumber::find(way, *kind, modules, objects)?,
                bits: bits(*kind, *value)?,
            },
        })
    }

    /// Prepares the change once all ranks can carry it out: a library that contains the function is loaded,
    /// by the control thread.
    pub(crate) fn make_ready(&self) -> Result<(), OrderError> {
        if let Self::Replace {
            by: ReplacementFunction::InLibrary { library, name, address }, ..
        } = self
        {
            address.store(library.load_for(name)?, Ordering::Release);
        }
        Ok(())
    }

    /// Current value of the variable to be changed.
    pub(crate) fn old(&self) -> u64 {
        match self {
            Self::Set { variable, .. } => variable.load(),
            Self::Lever { lever, .. } => levers::value(*lever).cast_unsigned(),
            _ => 0,
        }
    }

    /// Sentence about what will be done, where the value does not say it; else empty.
    pub(crate) fn note(&self) -> String {
        match self {
            Self::Lever { lever, value } => levers::note(*lever, *value),
            _ => String::new(),
        }
    }

    /// Carries out the change at a passage, if there is one; `None` if it has to wait for another passage.
    pub(crate) fn carry_out(&self, passage: Option<&Passage<'_>>) -> Option<ChangeOutcome> {
        if let Self::SetReached { number, bits } = self {
            return number.set(passage, *bits);
        }
        Some(self.carry_out_at_once())
    }

    /// Carries out a change that needs nothing of a passage.
    fn carry_out_at_once(&self) -> ChangeOutcome {
        match self {
            Self::SetReached { .. } => ChangeOutcome::default(),
            Self::Set { variable, bits } => {
                let old = variable.load();
                variable.store(*bits);
                ChangeOutcome { old, new: *bits, failure: 0 }
            }
            Self::Call { function, registers, returns } => ChangeOutcome {
                new: registers.call(*function, *returns),
                ..ChangeOutcome::default()
            },
            Self::Load { library } => {
                let failure = if library.load().is_ok() { 0 } else { libc::ELIBBAD };
                ChangeOutcome { failure, ..ChangeOutcome::default() }
            }
            Self::Replace { site, by } => {
                let by = by.address();
                let is_done = probes::instrument().is_some_and(|probes| probes.replace(*site, by));
                let failure = if is_done { 0 } else { libc::ENOENT };
                ChangeOutcome { old: 0, new: by.unwrap_or(0) as u64, failure }
            }
            Self::Lever { lever, value } => {
                let old = levers::value(*lever);
                let failure = levers::set(*lever, *value).err().unwrap_or(0);
                let new = levers::value(*lever).cast_unsigned();
                ChangeOutcome { old: old.cast_unsigned(), new, failure }
            }
        }
    }
}

impl ReplacementFunction {
    fn find(by: &Replacement, modules: &Modules) -> Result<Self, OrderError> {
        Ok(match by {
            Replacement::Original => Self::Original,
            Replacement::Function(at) => Self::Function(modules.code(*at)?),
            Replacement::Exported(text) => match text.split_once(':') {
                Some((path, name)) => Self::InLibrary {
                    library: LoadedLibrary::find_with(path, name)?,
                    name: name.to_owned(),
                    address: AtomicUsize::new(0),
                },
                None => Self::Function(exported(text)?),
            },
        })
    }

    /// Address of the replacement; `None` for the original function.
    fn address(&self) -> Option<usize> {
        match self {
            Self::Original => None,
            Self::Function(address) => Some(*address),
            // Set by `make_ready`, without which no action is armed.
            Self::InLibrary { address, .. } => Some(address.load(Ordering::Acquire)),
        }
    }
}

fn exported(name: &str) -> Result<usize, OrderError> {
    let missing = || OrderError::NotExported { name: name.to_owned() };
    symbol(libc::RTLD_DEFAULT, name).ok_or_else(missing)
}

/// Reads the values of variables; omits those that cannot be set.
pub(crate) fn read(modules: &[Module], variables: &[(u32, Location, ValueType)]) -> OrderAnswer {
    let modules = Modules::find(modules);
    let values = variables.iter().filter_map(|(number, at, kind)| {
        let address = modules.data(*at, kind.n_bytes()).ok()?;
        Some((*number, Variable::new(address, *kind).ok()?.load()))
    });
    OrderAnswer::Values { values: values.collect() }
}

fn bits(kind: ValueType, value: Value) -> Result<u64, OrderError> {
    kind.bits(value).ok_or(OrderError::DoesNotFit { value, kind })
}

/// Argument registers of a function: rdi, rsi, rdx, rcx, r8, r9, and xmm0 to xmm7.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Registers {
    integers: [u64; 6],
    floats: [f64; 8],
}

impl Registers {
    /// Assigns arguments to registers by the calling convention: each kind of register is filled in order.
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

    /// Calls the function, which may take fewer arguments; returns its result as the bits of its type.
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
            // SAFETY: as above; the user vouches that it may be called here.
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

/// Extends small integers to the whole register, as compilers expect.
fn widened(kind: ValueType, bits: u64) -> u64 {
    match kind.value(bits) {
        Value::Int(whole) => whole.cast_unsigned(),
        _ => bits,
    }
}

fn mask(kind: ValueType) -> u64 {
    if kind.n_bytes() == 8 { u64::MAX } else { (1 << (8 * kind.n_bytes())) - 1 }
}
