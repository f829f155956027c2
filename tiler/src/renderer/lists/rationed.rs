//! A reader that bounds the memory of parsers that read a row or an element as a whole, however long it is.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use super::{MAX_ROW_BYTES, broken};

/// A reader that fails when a row has more than [`MAX_ROW_BYTES`], and what a parser reads ahead.
pub(super) struct Rationed<R> {
    source: R,
    ration: Ration,
}

/// Number of bytes that may still be read for the present row.
#[derive(Clone)]
pub(super) struct Ration(Rc<Cell<usize>>);

/// Number of bytes that parsers read ahead.
const AHEAD: usize = 16 << 10;

impl Ration {
    /// Begins a row.
    pub(super) fn renew(&self) {
        self.0.set(MAX_ROW_BYTES + AHEAD);
    }
}

impl<R: BufRead> Rationed<R> {
    pub(super) fn new(source: R) -> (Self, Ration) {
        let ration = Ration(Rc::default());
        ration.renew();
        (Self { source, ration: ration.clone() }, ration)
    }
}

impl<R: BufRead> BufRead for Rationed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.source.fill_buf()?;
        let left = self.ration.0.get();
        if left == 0 && !bytes.is_empty() {
            let limit = MAX_ROW_BYTES >> 10;
            return Err(broken(format!("A row is longer than {limit} KiB. Is a quotation mark not closed?")));
        }
        Ok(&bytes[..bytes.len().min(left)])
    }

    fn consume(&mut self, bytes: usize) {
        self.ration.0.set(self.ration.0.get().saturating_sub(bytes));
        self.source.consume(bytes);
    }
}

impl<R: BufRead> Read for Rationed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}
