//! Parser of a variable's name: `grid.rows`, `params::a[3]`, `field%dx(2, 1)`, `solve.c:chunk`, `sim->box.cutoff`.

/// Step from a pointer to a member of what it points to.
const ARROW: &str = "->";

/// Variable with the steps to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariablePath<'n> {
    /// Source file, if given.
    pub(crate) file: Option<&'n str>,
    /// Name of the variable itself.
    pub(crate) base: &'n str,
    /// Steps from the variable inwards.
    pub(crate) steps: Vec<PathStep<'n>>,
}

/// Step with its position in the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathStep<'n> {
    /// The name up to this step.
    pub(crate) of: &'n str,
    pub(crate) step: AccessStep<'n>,
}

/// Step into a structure or array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessStep<'n> {
    /// Name of a member.
    Member(&'n str),
    /// Indices of an element, as in the source.
    Element(Vec<i64>),
    /// What a pointer points to.
    Pointee,
}

impl<'n> VariablePath<'n> {
    /// Parses a name; `None` if its syntax is invalid.
    pub(crate) fn parse(name: &'n str) -> Option<Self> {
        let (file, start) = match single_colon(name) {
            Some(at) => (Some(&name[..at]), at + 1),
            None => (None, 0),
        };
        let end = start + end_of_base(&name[start..]);
        let base = name[start..end].trim();
        let mut steps: Vec<PathStep<'n>> = Vec::new();
        let mut at = end;
        while at < name.len() {
            if name[at..].starts_with(ARROW) {
                steps.push(PathStep { of: &name[..at], step: AccessStep::Pointee });
            }
            let (step, n_bytes) = step(&name[at..])?;
            match (steps.last_mut().map(|last| &mut last.step), step) {
                // `a[1][2]` is one element of a two-dimensional array.
                (Some(AccessStep::Element(indices)), AccessStep::Element(more)) => {
                    indices.extend(more)
                }
                (_, step) => steps.push(PathStep { of: &name[..at], step }),
            }
            at += n_bytes;
        }
        (!base.is_empty()).then_some(Self { file, base, steps })
    }
}

/// Returns the position of a colon that is not part of `::`.
fn single_colon(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    let is_single = |at: usize| {
        bytes[at] == b':'
            && bytes.get(at + 1) != Some(&b':')
            && (at == 0 || bytes[at - 1] != b':')
            && !name[..at].contains(['[', '('])
    };
    (0..bytes.len()).find(|at| is_single(*at))
}

/// Returns the end of the variable's own name, which includes template arguments and anonymous namespaces.
fn end_of_base(name: &str) -> usize {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut depth = 0_usize;
    let mut after = 0;
    for (at, character) in name.char_indices() {
        if name[at..].starts_with(ANONYMOUS) {
            after = at + ANONYMOUS.len();
        }
        match character {
            _ if at < after => {}
            '-' if name[at..].starts_with(ARROW) && depth == 0 => return at,
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '.' | '%' | '[' | '(' if depth == 0 => return at,
            _ => {}
        }
    }
    name.len()
}

/// Parses the first step; returns it with its length in bytes.
fn step(rest: &str) -> Option<(AccessStep<'_>, usize)> {
    let close = match rest.as_bytes().first()? {
        b'[' => ']',
        b'(' => ')',
        b'.' | b'%' | b'-' => {
            let start = if rest.starts_with(ARROW) { ARROW.len() } else { 1 };
            if start == 1 && rest.starts_with('-') {
                return None;
            }
            let end = rest[start..].find(['.', '%', '[', '(', '-']);
            let end = end.map_or(rest.len(), |end| end + start);
            let member = rest[start..end].trim();
            return (!member.is_empty()).then_some((AccessStep::Member(member), end));
        }
        _ => return None,
    };
    let end = rest.find(close)?;
    let indices = rest[1..end].split(',').map(|index| index.trim().parse().ok());
    Some((AccessStep::Element(indices.collect::<Option<_>>()?), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let said = VariablePath::parse(name).map_or("none".to_owned(), |path| {
            let steps: Vec<_> = path.steps.iter().map(|at| format!("{:?}", at.step)).collect();
            format!("{}|{}|{}", path.file.unwrap_or_default(), path.base, steps.join(" "))
        });
        assert_eq!(said, expected);
    }

    #[test]
    fn a_name_has_a_base_and_steps() {
        check("chunk", "|chunk|");
        check("grid.rows", "|grid|Member(\"rows\")");
        check("grid%dx(2, 1)", "|grid|Member(\"dx\") Element([2, 1])");
        check("a[3][-1].x", "|a|Element([3, -1]) Member(\"x\")");
        check("fire::Box<a.b>::n", "|fire::Box<a.b>::n|");
        check("(anonymous namespace)::n.x", "|(anonymous namespace)::n|Member(\"x\")");
        check("src/solve.c:chunk", "src/solve.c|chunk|");
        check("solve.cc:fire::n", "solve.cc|fire::n|");
        check("sim->box.cut", "|sim|Pointee Member(\"box\") Member(\"cut\")");
        check("a.b[2]->c", "|a|Member(\"b\") Element([2]) Pointee Member(\"c\")");
        check("Box<A->b>::n->m", "|Box<A->b>::n|Pointee Member(\"m\")");
        check("a->", "none");
        check("a-b", "|a-b|");
        check("a.b-c", "none");
        check("", "none");
        check(".x", "none");
        check("a.", "none");
        check("a[", "none");
        check("a[i]", "none");
        check("a[3]x", "none");
    }
}
