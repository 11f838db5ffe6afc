use std::io::BufRead;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Error, Result, Schema};
use rayon::prelude::*;

use crate::formats::format::{Format, Text};

/// Where a text can be cut into pieces that are read each on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkBoundary {
    /// Nowhere.
    Nowhere,
    /// After each blank line.
    AfterBlankLines,
    /// After each line.
    AfterLines,
}

/// How many pieces a batch has, so that all cores have some even when pieces differ.
const PIECES: usize = 16;

/// Whole sequences of a text, and how many lines of it come before them.
struct TextChunk {
    before: usize,
    lines: Vec<u8>,
}

impl dyn Format + '_ {
    /// Reads sequences on all cores, if the format allows it: [`Format::read`] for a known schema.
    ///
    /// A batch comes as several datasets; those before an error still come.
    pub fn read_in_pieces(
        &self,
        name: &str,
        from: &mut dyn BufRead,
        schema: &Arc<Schema>,
        batch: usize,
        emit: &mut dyn FnMut(Vec<Dataset>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if self.cut() == ChunkBoundary::Nowhere {
            return self.read(Text::new(name, from), Some(schema), batch, &mut |data| emit(vec![data]));
        }
        let (mut n_lines, mut any, mut more) = (0, false, true);
        while more {
            let (mut pieces, mut n) = (Vec::new(), 0);
            while more && n < batch.max(1) {
                let piece = next_piece(self.cut(), n_lines, batch.div_ceil(PIECES), from);
                let (piece, read) = piece.map_err(|source| Error::Io { path: name.into(), source })?;
                more = read > 0;
                n += read;
                n_lines += read;
                pieces.push(piece);
            }
            let read: Vec<Result<Vec<Dataset>>> =
                pieces.into_par_iter().map(|piece| read_chunk(self, name, &piece, schema)).collect();
            let mut whole = Vec::new();
            let failed = read.into_iter().try_for_each(|data| {
                whole.extend(data?);
                Ok(())
            });
            any |= !whole.is_empty();
            let next = emit(take(&mut whole))?;
            failed?;
            if next.is_break() {
                return Ok(());
            }
        }
        // Without a sequence, the format says what is missing.
        let end = Text { name, from, before: n_lines, piece: false };
        if any { Ok(()) } else { self.read(end, Some(schema), batch, &mut |_| Ok(ControlFlow::Continue(()))) }
    }
}

/// The next piece of at least so many lines that are not blank, and how many lines it has.
fn next_piece(
    cut: ChunkBoundary,
    before: usize,
    least: usize,
    from: &mut dyn BufRead,
) -> std::io::Result<(TextChunk, usize)> {
    let (mut piece, mut n_lines, mut filled) = (TextChunk { before, lines: Vec::new() }, 0, 0);
    loop {
        let start = piece.lines.len();
        if from.read_until(b'\n', &mut piece.lines)? == 0 {
            return Ok((piece, n_lines));
        }
        n_lines += 1;
        let blank = piece.lines[start..].trim_ascii().is_empty();
        filled += usize::from(!blank);
        if filled >= least.max(1) && (blank || cut == ChunkBoundary::AfterLines) {
            return Ok((piece, n_lines));
        }
    }
}

fn read_chunk(
    format: &dyn Format,
    name: &str,
    piece: &TextChunk,
    schema: &Arc<Schema>,
) -> Result<Vec<Dataset>> {
    let mut all = Vec::new();
    let text = Text { name, from: &mut &*piece.lines, before: piece.before, piece: true };
    format.read(text, Some(schema), usize::MAX, &mut |data| {
        all.push(data);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}
