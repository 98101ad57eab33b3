//! Executable mappings of a process (program and libraries), updated while it loads more libraries.

/// Executable mappings: lines of `/proc/PID/maps`, and their address ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModuleMap {
    text: String,
    ranges: Vec<(u64, u64)>,
}

impl ModuleMap {
    /// Returns the executable mappings among the lines of `maps`.
    pub(crate) fn parse(maps: &str) -> Self {
        let mut modules = Self::default();
        modules.add(maps);
        modules
    }

    /// Adds executable mappings that are not known yet; returns true if there were any.
    pub(crate) fn add(&mut self, maps: &str) -> bool {
        let n_before = self.ranges.len();
        for line in maps.lines() {
            if let Some(range) = executable_range(line)
                && !self.ranges.contains(&range)
            {
                self.ranges.push(range);
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
        n_before < self.ranges.len()
    }

    /// Returns whether `address` lies in a known module.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }

    /// Returns the lines of the mappings.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn executable_range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let range = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    words.next()?.contains('x').then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0a000-55d0b000 r--p 00000000 08:01 1 /bin/program
55d0b000-55d0c000 r-xp 00001000 08:01 1 /bin/program
nonsense
7f000000-7f001000 r-xp 00000000 08:01 2 /lib/a b.so (deleted)
";

    #[track_caller]
    fn check(address: u64, expected: bool) {
        assert_eq!(ModuleMap::parse(MAPS).holds(address), expected, "{address:x}");
    }

    #[test]
    fn an_address_lies_in_an_executable_mapping_or_not() {
        check(0x55d0_a000, false);
        check(0x55d0_b000, true);
        check(0x55d0_bfff, true);
        check(0x55d0_c000, false);
        check(0x7f00_0800, true);
        check(0, false);
    }

    #[test]
    fn only_new_mappings_are_added() {
        let mut modules = ModuleMap::parse(MAPS);
        assert!(!modules.add(MAPS));
        assert!(modules.add("7f100000-7f101000 r-xp 00000000 08:01 3 /lib/later.so"));
        assert!(modules.holds(0x7f10_0000));
        assert_eq!(modules.text().lines().count(), 3);
    }
}
