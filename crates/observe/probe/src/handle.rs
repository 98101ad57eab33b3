//! MPI handles as numbers, from C or from Fortran.
#![allow(unsafe_code, reason = "reads handles where the program keeps them")]

/// Bit set in handles from Fortran, where they are 32-bit numbers.
const FORTRAN: usize = 1 << 63;

/// Handle of either language; compared and passed back to MPI, never dereferenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle(usize);

impl Handle {
    /// Handle that no library uses.
    pub(crate) const NOTHING: Self = Self(usize::MAX >> 1);

    /// Makes a handle passed by value in C; the register may hold more than the handle.
    #[inline(always)]
    pub(crate) fn c(register: usize) -> Self {
        Self(register)
    }

    /// Makes a Fortran handle.
    #[inline(always)]
    pub(crate) fn fortran(number: i32) -> Self {
        Self(number.cast_unsigned() as usize | FORTRAN)
    }

    /// Reads the C handle stored at an address.
    pub(crate) fn c_at(address: usize) -> Self {
        if address == 0 {
            return Self(0);
        }
        if address.is_multiple_of(8) {
            // SAFETY: the program passes the address of its handle; where that has 4 bytes, the 4 after
            // it lie in the same aligned word and are masked away later.
            return Self(unsafe { (address as *const usize).read() });
        }
        // SAFETY: as above; only handles of 4 bytes lie at such an address.
        Self(unsafe { (address as *const u32).read() } as usize)
    }

    /// Reads the Fortran handle stored at an address.
    pub(crate) fn fortran_at(address: usize) -> Self {
        if address == 0 {
            return Self(0);
        }
        // SAFETY: the program passes the address of its handle, an INTEGER.
        Self::fortran(unsafe { (address as *const i32).read() })
    }

    /// Returns whether the handle came from Fortran.
    pub(crate) fn is_fortran(self) -> bool {
        self.0 & FORTRAN != 0
    }

    /// Number of a Fortran handle.
    pub(crate) fn number(self) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "the number has 32 bits")]
        let number = self.0 as u32;
        number.cast_signed()
    }

    /// Returns the register's bits that belong to a handle of this library's width.
    #[inline(always)]
    pub(crate) fn masked(self, mask: usize) -> usize {
        self.0 & mask
    }
}
