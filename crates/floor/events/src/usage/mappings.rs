//! Memory that a process has for itself, and what was asked for its pages, in the kernel's file `smaps`.

/// Addresses from the first byte to the one after the last.
pub type Span = (usize, usize);

/// Memory that the process alone reads and writes, and no file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its addresses.
    pub span: Span,
    /// Bytes that are in memory.
    pub resident_bytes: usize,
    /// What was asked for its pages.
    pub advice: PageAdvice,
}

/// Size of pages that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageAdvice {
    /// Nothing was asked for.
    #[default]
    None,
    /// Huge pages (`hg`).
    Huge,
    /// No huge pages (`nh`).
    Small,
}

impl Mapping {
    /// Returns the number of bytes.
    pub fn n_bytes(&self) -> usize {
        self.span.1.saturating_sub(self.span.0)
    }
}

/// Returns the heap and the anonymous mappings in `smaps`, by address.
pub fn mappings(smaps: &str) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    let mut is_wanted = false;
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("VmFlags:") {
            if let Some(last) = found.last_mut().filter(|_| is_wanted) {
                last.advice = advice(rest);
            }
        } else if let Some(rest) = line.strip_prefix("Rss:") {
            let kib = rest.split_ascii_whitespace().next().and_then(|kib| kib.parse().ok());
            if let Some(last) = found.last_mut().filter(|_| is_wanted) {
                last.resident_bytes = 1024_usize.saturating_mul(kib.unwrap_or(0));
            }
        } else if let Some((span, is_own)) = head(line) {
            is_wanted = is_own;
            let new = Mapping { span, resident_bytes: 0, advice: PageAdvice::None };
            found.extend(is_own.then_some(new));
        }
    }
    found
}

/// Addresses in the first line of a mapping, and whether it is private, without a file, and no stack.
fn head(line: &str) -> Option<(Span, bool)> {
    let mut words = line.split_ascii_whitespace();
    let (first, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let span = (address(first)?, address(end)?);
    let is_private = words.next()? == "rw-p";
    let mut words = words.skip(2);
    let has_no_file = words.next()? == "0";
    let is_plain = words.next().is_none_or(|name| name == "[heap]");
    Some((span, is_private && has_no_file && is_plain))
}

fn advice(flags: &str) -> PageAdvice {
    let flag = flags.split_ascii_whitespace().find(|flag| ["hg", "nh"].contains(flag));
    match flag {
        Some("hg") => PageAdvice::Huge,
        Some(_) => PageAdvice::Small,
        None => PageAdvice::None,
    }
}

/// Returns what is in both lists of spans; neither has two that overlap.
pub fn common(a: &[Span], b: &[Span]) -> Vec<Span> {
    let both = |one: &Span, other: &Span| (one.0.max(other.0), one.1.min(other.1));
    let pairs = a.iter().flat_map(|one| b.iter().map(move |other| both(one, other)));
    pairs.filter(|(first, end)| first < end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(head: &str, flags: &str) -> String {
        format!(
            "{head}\nSize:    6144 kB\nRss:    2048 kB\nThpeligible: 0\nVmFlags: rd wr {flags}\n"
        )
    }

    #[track_caller]
    fn check(head: &str, flags: &str, expected: Option<PageAdvice>) {
        let own = "7000-9000 rw-p 00000000 00:00 0 ";
        let texts = text(own, "nh") + &text(head, flags) + &text("a-b r-xp 0 08:01 9 /x", "hg");
        let found = mappings(&texts);
        let first =
            Mapping { span: (0x7000, 0x9000), resident_bytes: 2 << 20, advice: PageAdvice::Small };
        assert_eq!(found[0], first);
        let span = (0x60_0000, 0xc0_0000);
        let expected = expected.map(|advice| Mapping { span, advice, ..first });
        assert_eq!(found.get(1).copied(), expected);
    }

    #[test]
    fn only_memory_of_the_program_alone_counts() {
        let heap = "600000-c00000 rw-p 00000000 00:00 0                  [heap]";
        check(heap, "mr ac", Some(PageAdvice::None));
        check(heap, "mr hg ac", Some(PageAdvice::Huge));
        check("600000-c00000 rw-p 00000000 00:00 0 ", "nh", Some(PageAdvice::Small));
        check("600000-c00000 rw-s 00000000 00:00 0 ", "", None);
        check("600000-c00000 r-xp 00000000 08:01 77 /lib/x.so", "", None);
        check("600000-c00000 rw-p 00000000 00:00 0 [stack]", "", None);
    }

    #[test]
    fn spans_share_what_is_in_both() {
        assert_eq!(common(&[(0, 4), (6, 9)], &[(2, 7), (8, 20)]), [(2, 4), (6, 7), (8, 9)]);
        assert_eq!(common(&[(0, 4)], &[(4, 7)]), []);
    }
}
