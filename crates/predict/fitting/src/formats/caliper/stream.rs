//! Records of one stream, and the tree of nodes that they define.

use super::RECORD;
use crate::formats::Fault;
use std::borrow::Cow;
use std::collections::HashMap;

/// Ids of the attributes that define attributes, which no stream records.
const NAME: u64 = 8;
const PROPERTIES: u64 = 10;
/// Ids below this one are those of types and of the attributes above.
const FIRST_RECORDED: u64 = 12;
/// Property of attributes whose values make paths.
const IS_NESTED: u32 = 256;
/// Longest chain of parents; a longer one is a circle.
const DEPTH_MAX: usize = 10_000;
/// Letters of a line that a message shows.
const SHOWN_MAX: usize = 60;

/// Line of a stream.
#[derive(Debug)]
pub(super) enum Record<'a> {
    Node(NodeRecord<'a>),
    Snapshot(Entries<'a>),
    Globals(Entries<'a>),
    Other,
}

/// Definition of a node.
#[derive(Debug)]
pub(super) struct NodeRecord<'a> {
    id: u64,
    node: Node<'a>,
}

/// References to nodes, and values of attributes.
#[derive(Debug, Default)]
pub(super) struct Entries<'a> {
    pub(super) nodes: Vec<u64>,
    pub(super) attributes: Vec<u64>,
    pub(super) values: Vec<&'a str>,
}

/// Value of an attribute.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) attribute: u64,
    parent: Option<u64>,
    /// Value as written, with escapes.
    written: &'a str,
    /// Properties of an attribute, if the node is one.
    properties: u32,
}

impl<'a> Record<'a> {
    /// Parses a line.
    pub(super) fn of(line: &'a str) -> Result<Self, Fault> {
        Self::parsed(line.trim())
            .ok_or_else(|| Fault::NotARecord(line.trim().chars().take(SHOWN_MAX).collect()))
    }

    fn parsed(line: &'a str) -> Option<Self> {
        let mut fields = split(line.strip_prefix(RECORD)?, ',');
        let kind = fields.next()?;
        let (mut id, mut parent, mut node_value) = (None, None, "");
        let mut entries = Entries::default();
        for field in fields {
            let (key, written) = field.split_once('=')?;
            match key {
                "id" => id = Some(written.parse().ok()?),
                "parent" => parent = Some(written.parse().ok()?),
                "ref" => entries.nodes = ids(written)?,
                "attr" => entries.attributes = ids(written)?,
                "data" if kind == "node" => node_value = written,
                "data" => entries.values = split(written, '=').collect(),
                _ => {}
            }
        }
        let is_whole = entries.attributes.len() == entries.values.len();
        match kind {
            "node" => {
                let attribute = *entries.attributes.first()?;
                let node = Node { attribute, parent, written: node_value, properties: 0 };
                Some(Self::Node(NodeRecord { id: id?, node }))
            }
            "ctx" => is_whole.then_some(Self::Snapshot(entries)),
            "globals" => is_whole.then_some(Self::Globals(entries)),
            _ => Some(Self::Other),
        }
    }
}

/// Splits at separators without a backslash before them.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    text.split(move |letter| {
        let is_end = letter == separator && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    })
}

fn ids(text: &str) -> Option<Vec<u64>> {
    text.split('=').map(|id| id.parse().ok()).collect()
}

impl Node<'_> {
    /// Value without escapes.
    pub(super) fn value(&self) -> Cow<'_, str> {
        unescaped(self.written)
    }

    /// True if the node is an attribute whose values make paths.
    pub(super) const fn is_nested(&self) -> bool {
        self.properties & IS_NESTED != 0
    }
}

/// Removes backslashes before other letters.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut is_escaped = false;
    let is_kept = |letter: &char| {
        is_escaped = *letter == '\\' && !is_escaped;
        !is_escaped
    };
    Cow::Owned(text.chars().filter(is_kept).collect())
}

/// Nodes of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream<'a> {
    nodes: HashMap<u64, Node<'a>>,
}

impl<'a> Stream<'a> {
    /// Returns whether a record belongs to the next stream, because it defines a node again.
    pub(super) fn is_ended_by(&self, record: &Record<'_>) -> bool {
        matches!(record, Record::Node(NodeRecord { id, .. }) if self.nodes.contains_key(id))
    }

    /// Adds a node.
    pub(super) fn define(&mut self, record: &NodeRecord<'a>) -> Result<(), Fault> {
        let mut node = record.node.clone();
        if let Some(parent) = node.parent.filter(|parent| FIRST_RECORDED <= *parent) {
            self.node(parent)?;
        }
        if node.attribute == NAME {
            let properties = self.chain(node.parent).find(|it| it.attribute == PROPERTIES);
            node.properties = properties.and_then(|it| it.written.parse().ok()).unwrap_or(0);
        }
        self.nodes.insert(record.id, node);
        Ok(())
    }

    /// Returns a node.
    pub(super) fn node(&self, id: u64) -> Result<&Node<'a>, Fault> {
        let shown = i64::try_from(id).unwrap_or(i64::MAX);
        self.nodes.get(&id).ok_or(Fault::UnknownId("node records", shown))
    }

    /// Returns a node and its parents, innermost first.
    pub(super) fn chain(&self, id: Option<u64>) -> impl Iterator<Item = &Node<'a>> {
        let node = |id: u64| self.nodes.get(&id);
        let first = id.and_then(node);
        std::iter::successors(first, move |it| node(it.parent?)).take(DEPTH_MAX)
    }

    /// Returns the value of another attribute that an attribute has, such as its unit.
    pub(super) fn inherited(&self, attribute: u64, name: &str) -> Option<Cow<'_, str>> {
        let is_of = |node: &&Node<'a>| {
            self.nodes.get(&node.attribute).is_some_and(|attribute| attribute.written == name)
        };
        self.chain(Some(attribute)).find(is_of).map(Node::value)
    }
}
