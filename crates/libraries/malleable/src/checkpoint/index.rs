//! Index of a checkpoint: the objects that it holds, and their positions.

use crate::data::{Class, Cut, Data, PartitionGroup, Rows};
use resize_plan::Partition;
use serde::{Deserialize, Serialize};

/// Index of a checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Index {
    /// Program that wrote it, with its own arguments.
    pub(crate) program: String,
    /// Number of the next iteration.
    pub(crate) iteration: u64,
    /// Id of the file of constant data.
    pub(crate) constants: u64,
    pub(crate) replicated: Vec<ReplicatedObject>,
    pub(crate) groups: Vec<SavedGroup>,
}

/// Object of which every rank holds all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReplicatedObject {
    pub(crate) name: String,
    pub(crate) is_constant: bool,
    /// Size of an element in bytes, and whether the number of elements may vary.
    pub(crate) form: (usize, bool),
    pub(crate) array: FileRange,
}

/// Objects whose rows are partitioned in the same way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedGroup {
    pub(crate) n_rows: u64,
    pub(crate) cut: [u64; 2],
    pub(crate) objects: Vec<SavedObject>,
}

/// Object of which each rank holds its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedObject {
    pub(crate) name: String,
    pub(crate) is_constant: bool,
    /// Elements of each row; 0 where rows have different lengths.
    pub(crate) n_per_row: usize,
    /// One array, or the lengths of rows and the arrays with so many elements, such as columns and values.
    pub(crate) arrays: Vec<FileRange>,
}

/// Position of an array in its file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileRange {
    /// Size of an element, in bytes.
    pub(crate) width: usize,
    pub(crate) at: u64,
    pub(crate) n_bytes: u64,
}

impl SavedObject {
    fn is_sized_for(&self, n_rows: u64) -> bool {
        match self.arrays[..] {
            [even] => {
                let row_bytes = (self.n_per_row as u64).checked_mul(even.width as u64);
                row_bytes.and_then(|row| row.checked_mul(n_rows)) == Some(even.n_bytes)
            }
            [lengths, first, ref others @ ..] => {
                let n_of = |place: FileRange| place.n_bytes.checked_div(place.width as u64);
                let is_whole = |place: &FileRange| is_multiple(place.n_bytes, place.width);
                lengths.width == 4
                    && n_of(lengths) == Some(n_rows)
                    && is_multiple(lengths.n_bytes, 4)
                    && is_whole(&first)
                    && others.iter().all(|place| is_whole(place) && n_of(*place) == n_of(first))
            }
            [] => false,
        }
    }
}

/// Returns whether these bytes are whole elements of this width.
fn is_multiple(n_bytes: u64, width: usize) -> bool {
    n_bytes.checked_rem(width as u64).unwrap_or(n_bytes) == 0
}

impl Index {
    /// Index of the registered data for these partitions; `n_entries` are those of each object with rows of
    /// different lengths, in order.
    pub(crate) fn of(data: &Data<'_>, rows: &[([u64; 2], Partition)], n_entries: &[u64]) -> Self {
        let mut ends = [0, 0];
        let mut place = |class: Class, width: usize, n_bytes: u64| {
            let end = &mut ends[usize::from(class == Class::Constant)];
            let at = *end;
            *end += n_bytes;
            FileRange { width, at, n_bytes }
        };
        let replicated = data.replicated.iter().map(|object| {
            let form = object.words.form();
            ReplicatedObject {
                name: object.name.to_owned(),
                is_constant: object.class == Class::Constant,
                form,
                array: place(object.class, form.0, object.words.bytes().len() as u64),
            }
        });
        let replicated = replicated.collect();
        let mut n_entries = n_entries.iter().copied();
        let mut groups = Vec::new();
        for (group, (cut, partition)) in data.groups.iter().zip(rows) {
            let n_rows = partition.n_rows();
            let objects = group.objects.iter().map(|object| {
                let (n_per_row, arrays) = match &object.rows {
                    Rows::Even { n_per_row, array } => {
                        let width = array.element_bytes();
                        let n_bytes = n_rows * (*n_per_row * width) as u64;
                        (*n_per_row, vec![place(object.class, width, n_bytes)])
                    }
                    Rows::Uneven { arrays, .. } => {
                        let n = n_entries.next().unwrap_or(0);
                        let mut all = vec![place(object.class, 4, 4 * n_rows)];
                        all.extend(arrays.iter().map(|array| {
                            let width = array.element_bytes();
                            place(object.class, width, n * width as u64)
                        }));
                        (0, all)
                    }
                };
                let is_constant = object.class == Class::Constant;
                SavedObject { name: object.name.to_owned(), is_constant, n_per_row, arrays }
            });
            groups.push(SavedGroup { n_rows, cut: *cut, objects: objects.collect() });
        }
        Self { replicated, groups, ..Self::default() }
    }

    /// Returns whether the index assigns each of `n_bytes` of variable and of constant data, as [`of`](Self::of) lays
    /// them out.
    pub(crate) fn describes(&self, n_bytes: [u64; 2]) -> bool {
        let mut ends = [0_u64, 0];
        let mut follows = |is_constant: bool, place: &FileRange| {
            let end = &mut ends[usize::from(is_constant)];
            let is_next = place.at == *end;
            is_next && end.checked_add(place.n_bytes).map(|next| *end = next).is_some()
        };
        let replicated = self.replicated.iter().all(|kept| {
            let (width, is_list) = kept.form;
            let is_sized = if is_list {
                is_multiple(kept.array.n_bytes, width)
            } else {
                kept.array.n_bytes == width as u64
            };
            is_sized && kept.array.width == width && follows(kept.is_constant, &kept.array)
        });
        let grouped = self.groups.iter().all(|group| {
            group.objects.iter().all(|object| {
                object.is_sized_for(group.n_rows)
                    && object.arrays.iter().all(|place| follows(object.is_constant, place))
            })
        });
        replicated && grouped && ends == n_bytes
    }

    /// Sizes of the variable and of the constant data, in bytes.
    pub(crate) fn n_bytes(&self) -> [u64; 2] {
        let objects = self.groups.iter().flat_map(|group| &group.objects);
        let rows = objects
            .flat_map(|kept| kept.arrays.iter().map(|array| (kept.is_constant, array.n_bytes)));
        let replicated = self.replicated.iter().map(|kept| (kept.is_constant, kept.array.n_bytes));
        let mut sums = [0, 0];
        rows.chain(replicated).for_each(|(is_constant, n)| sums[usize::from(is_constant)] += n);
        sums
    }

    /// Returns the first object that differs from `data`, with what `data` has instead.
    pub(crate) fn difference(&self, data: &Data<'_>) -> Option<(String, String)> {
        let rows = |group: &PartitionGroup<'_>| {
            // The number of rows is not compared: a new rank need not know it.
            Some((group.cut.encode(), Partition::even(0, 1).ok()?))
        };
        let rows = data.groups.iter().filter_map(rows).collect::<Vec<_>>();
        let (held, registered) = (self.words(), Self::of(data, &rows, &[]).words());
        if held == registered {
            return None;
        }
        let n_equal = held.iter().zip(&registered).take_while(|(a, b)| a == b).count();
        let word = |words: &[String]| words.get(n_equal).cloned().unwrap_or("nothing more".into());
        Some((word(&held), word(&registered)))
    }

    /// Describes the objects, for comparison with others.
    fn words(&self) -> Vec<String> {
        let kind = |is_constant| if is_constant { "constant" } else { "variable" };
        let mut words = Vec::new();
        for kept in &self.replicated {
            let (width, is_list) = kept.form;
            let list = if is_list { "a list with elements" } else { "a value" };
            words.push(format!(
                "{} `{}`, {list} of {width} bytes",
                kind(kept.is_constant),
                kept.name
            ));
        }
        for group in &self.groups {
            words.push(cut(group.cut[0]));
            for object in &group.objects {
                let each = match object.n_per_row {
                    0 => "entries".to_owned(),
                    1 => "an element for each row".to_owned(),
                    n => format!("{n} elements for each row"),
                };
                let widths = object.arrays.iter().map(|array| array.width).collect::<Vec<_>>();
                let kind = kind(object.is_constant);
                words.push(format!("{kind} `{}`, {each} of {widths:?} bytes", object.name));
            }
        }
        words
    }
}

fn cut(kind: u64) -> String {
    let kinds = ["even", "weighted", "aligned", "cyclic", "rectangular", "given", "cuboid"];
    let kind = usize::try_from(kind).ok().and_then(|kind| kinds.get(kind));
    format!("rows in {} parts", kind.unwrap_or(&"unknown"))
}

/// Partitions the rows of a group among `n_parts` ranks; weights are those of its first sparse object.
pub(crate) fn partition(
    group: &SavedGroup,
    cut: Cut,
    n_parts: u32,
    weights: &[u32],
) -> Result<Partition, resize_plan::PartitionError> {
    match cut {
        Cut::Weighted => {
            let weights = weights.iter().map(|weight| u64::from(*weight)).collect::<Vec<_>>();
            Partition::weighted(&weights, n_parts)
        }
        _ => cut.informed(group.cut[1]).partition(group.n_rows, n_parts),
    }
}

/// Byte ranges of a part in the array, in the part's order. `begins` is where rows begin; `None` for rows of equal
/// size.
pub(crate) fn stretches(
    partition: &Partition,
    part: u32,
    row_bytes: u64,
    begins: Option<&[u64]>,
) -> Vec<(u64, usize)> {
    let stretch = |rows: std::ops::Range<u64>| {
        let begin = |row: u64| match begins {
            Some(begins) => {
                let row = usize::try_from(row).unwrap_or(usize::MAX);
                begins.get(row).copied().unwrap_or(0)
            }
            None => row,
        };
        let (from, to) = (begin(rows.start), begin(rows.end));
        (from * row_bytes, usize::try_from((to - from) * row_bytes).unwrap_or(usize::MAX))
    };
    partition.rows_of(part).map(stretch).collect()
}

/// Start of each row's entries, and the end of the last row.
pub(crate) fn begins(lengths: &[u32]) -> Vec<u64> {
    let ends = lengths.iter().scan(0, |end, length| {
        *end += u64::from(*length);
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    #[track_caller]
    fn check(partition: &Partition, begins: Option<&[u64]>, parts: &[&[(u64, usize)]]) {
        for (part, expected) in (0..).zip(parts) {
            assert_eq!(stretches(partition, part, 8, begins), *expected, "part {part}");
        }
    }

    #[test]
    fn parts_lie_in_the_order_of_their_rows() {
        check(&Partition::even(5, 2).unwrap(), None, &[&[(0, 24)], &[(24, 16)]]);
        check(&Partition::cyclic(5, 2, 2).unwrap(), None, &[&[(0, 16), (32, 8)], &[(16, 16)]]);
        let begins = begins(&[2, 0, 1]);
        assert_eq!(begins, [0, 2, 2, 3]);
        check(&Partition::even(3, 2).unwrap(), Some(&begins), &[&[(0, 16)], &[(16, 8)]]);
    }

    #[test]
    fn the_first_difference_is_named() {
        let (mut value, mut rows, mut csr) = (7_u64, vec![1.0; 3], Csr::<f64>::default());
        let mut data = Data::default();
        data.constant("value", &mut value);
        data.rows_of(3, Cut::Even);
        data.rows("x", &mut rows);
        data.constant_csr("a", &mut csr);
        let index = Index::of(&data, &[([0, 0], Partition::even(3, 1).unwrap())], &[4]);
        assert_eq!(index.n_bytes(), [24, 8 + 12 + 16 + 32]);
        assert_eq!(index.difference(&data), None);
        assert!(index.describes([24, 68]));
        assert!(!index.describes([24, 69]) && !index.describes([25, 68]));
        let mut longer = index.clone();
        longer.groups[0].n_rows = 4;
        assert!(!longer.describes([24, 68]));
        let mut swapped = index.clone();
        swapped.groups[0].objects[1].arrays.swap(1, 2);
        assert!(!swapped.describes([24, 68]));
        let (mut value, mut rows) = (7_u64, vec![1.0_f32; 3]);
        let mut data = Data::default();
        data.constant("value", &mut value);
        data.rows_of(3, Cut::Even);
        data.rows("x", &mut rows);
        let (held, registered) = index.difference(&data).unwrap();
        assert_eq!(held, "variable `x`, an element for each row of [8] bytes");
        assert_eq!(registered, "variable `x`, an element for each row of [4] bytes");
    }
}
