//! Replicated objects, sent as one message from the first source.

use super::array_move::to_usize;
use super::error::MoveError;
use crate::bridge::Bridge;
use crate::data::{Class, Data};
use mpi::Exchange;

/// Replicated objects being sent.
pub(crate) struct Travel {
    lengths: Vec<u64>,
    exchange: Option<Exchange>,
    bytes: Vec<u8>,
}

impl Travel {
    /// Starts to send the replicated objects of a class. All ranks of the bridge call it; their lengths are
    /// broadcast at once.
    pub(crate) fn begin(
        bridge: &Bridge<'_>,
        data: &Data<'_>,
        class: Class,
    ) -> Result<Self, MoveError> {
        let root = bridge.sources.first().copied().unwrap_or(0);
        let words = || data.replicated.iter().filter(move |words| words.class == class);
        let lengths = words().map(|words| words.words.bytes().len() as u64);
        let mut lengths = lengths.collect::<Vec<_>>();
        if !lengths.is_empty() {
            bridge.comm.broadcast(&mut lengths, root)?;
        }
        let mut bytes = vec![0; lengths.iter().map(|length| to_usize(*length)).sum()];
        if bridge.comm.rank() == root {
            bytes = words().flat_map(|words| words.words.bytes()).copied().collect();
        }
        if bytes.is_empty() {
            return Ok(Self { lengths, exchange: None, bytes });
        }
        let exchange = Some(bridge.comm.start_broadcast(Box::new(mpi::VecBuffer(bytes)), root)?);
        Ok(Self { lengths, exchange, bytes: Vec::new() })
    }

    /// Returns whether they have arrived.
    pub(crate) fn advance(&mut self) -> Result<bool, MoveError> {
        let Some(exchange) = &mut self.exchange else { return Ok(true) };
        if !exchange.is_complete()? {
            return Ok(false);
        }
        let received =
            self.exchange.take().and_then(Exchange::finished).unwrap_or_default().received;
        for (memory, _) in received {
            self.bytes = memory.into_any().downcast().map_or_else(|_| Vec::new(), |bytes| *bytes);
        }
        Ok(true)
    }

    /// Size of the objects, in bytes.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Puts the objects into the state.
    pub(crate) fn put(&self, data: &mut Data<'_>, class: Class) {
        let words = data.replicated.iter_mut().filter(|words| words.class == class);
        let mut rest = self.bytes.as_slice();
        for (words, length) in words.zip(&self.lengths) {
            let (own, behind) = rest.split_at(to_usize(*length).min(rest.len()));
            words.words.put(own);
            rest = behind;
        }
    }
}
