//! Rates how reliably MPI libraries start further processes.
//!
//! Measured on Debian 12: 12 runs of 5 spawns with Open MPI 4.1.4, 48 runs with Open MPI 5.0.11, 36 with
//! MPICH 5.0.2. Over UCX, MPICH 5.0.2 starts processes but loses messages from some: of 28 runs in which ranks receive
//! from `MPI_ANY_SOURCE` on the merged communicator, 28 waited forever, over shared memory or TCP, from one thread or several.
//! Probes for any source (`MPI_Iprobe`, `MPI_Improbe`) find their messages.

/// Ability of a library to start processes at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnSupport {
    /// True if it does so reliably; an untrusted library hangs, or cannot do it.
    pub is_trusted: bool,
    /// Reason, and a remedy where it is not trusted.
    pub why: String,
}

/// First MPICH version that can start processes.
pub(crate) const STARTING_PROCESSES: (u32, u32) = (4, 3);

/// Rates a library by its version text (`MPI_Get_library_version`) and by the network module set for it.
pub(crate) fn of_library(version: &str, netmod: Option<&str>) -> SpawnSupport {
    let open_mpi = number_after(version, "Open MPI v");
    let mpich = number_after(version, "MPICH Version:");
    let (is_trusted, why) = match (open_mpi, mpich) {
        (Some((major, _)), _) if 5 <= major => (true, "Open MPI 5 starts processes reliably"),
        (Some(_), _) => (
            false,
            "Open MPI 4 sometimes hangs when starting processes (openpmix issue 2735); use Open MPI 5 or \
             MPICH 5, or start all ranks at once",
        ),
        (_, Some(number)) if STARTING_PROCESSES <= number => {
            let netmod = netmod.filter(|netmod| !netmod.is_empty());
            if netmod.or(netmods(version).first().copied()) == Some("ucx") {
                (
                    false,
                    "over UCX, MPICH waits for ever for messages from any rank once processes were started; set \
                     `MPIR_CVAR_CH4_NETMOD=ofi` before the program starts, or have an MPICH that is built with `ofi`",
                )
            } else {
                (true, "MPICH since 4.3 starts processes reliably")
            }
        }
        (_, Some(_)) => (
            false,
            "MPICH before 4.3 cannot connect processes over `ch4:ucx`; use MPICH 5 or Open MPI 5, or start all \
             ranks at once",
        ),
        (None, None) => (
            false,
            "starting processes is untested with this MPI library; use Open MPI 5 or MPICH 5, or start all \
             ranks at once",
        ),
    };
    SpawnSupport { is_trusted, why: why.to_owned() }
}

/// Returns the network modules of MPICH, as in `MPICH Device: ch4:ucx ofi`; the first one is the default.
pub(crate) fn netmods(version: &str) -> Vec<&str> {
    let device = version.lines().find_map(|line| line.trim().strip_prefix("MPICH Device:"));
    let modules =
        device.and_then(|device| device.split_once(':')).map_or("", |(_, modules)| modules);
    modules.split([' ', ',']).filter(|name| !name.is_empty()).collect()
}

/// Returns the first two parts of the version number that follows `mark`.
pub(crate) fn number_after(text: &str, mark: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.split_once(mark)?;
    let mut parts = rest.trim_start().split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, is_trusted: bool) {
        assert_eq!(of_library(version, None).is_trusted, is_trusted);
    }

    /// Growth over UCX was rated reliable, and a receive from any rank then hung silently.
    #[test]
    fn mpich_is_trusted_over_ofi_only() {
        let both = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\nMPICH CC: x";
        let other = "MPICH Version: 4.3.0\nMPICH Device: ch4:ofi,ucx";
        for (version, netmod, is_trusted) in [
            (both, None, false),
            (both, Some("ucx"), false),
            (both, Some("ofi"), true),
            (other, None, true),
            (other, Some("ucx"), false),
        ] {
            let support = of_library(version, netmod);
            assert_eq!(support.is_trusted, is_trusted, "{netmod:?}: {}", support.why);
            assert!(is_trusted || support.why.contains("set `MPIR_CVAR_CH4_NETMOD=ofi`"));
        }
    }

    #[test]
    fn libraries_are_trusted_that_were_tried() {
        check("Open MPI v5.0.11, package: Open MPI x", true);
        check("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", false);
        check("MPICH Version:      5.0.2\nMPICH Release date: x", true);
        check("MPICH Version:\t4.3.0", true);
        check("MPICH Version:      4.0.2\nMPICH Device: ch4:ucx", false);
        check("Intel(R) MPI Library 2021.13", false);
        check("", false);
    }
}
