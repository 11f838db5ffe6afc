use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Result, Schema};
use rayon::prelude::*;

use crate::formats::format::Format;
use crate::text::input::Text;
use crate::text::lines::append_line;

/// Boundary at which a text can be split into chunks that are read independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkBoundary {
    /// Nowhere: the text is read as a whole.
    Nowhere,
    /// After each blank line.
    AfterBlankLines,
    /// After each line.
    AfterLines,
}

/// Number of chunks per batch: enough that all cores have work even if chunks differ in cost.
const CHUNKS_PER_BATCH: usize = 16;

/// Number of bytes at which a chunk is full, however few its lines are.
const FULL_CHUNK: usize = 1 << 23;

/// Lines of a text that hold whole sequences.
struct TextChunk {
    /// Number of lines of the text before the chunk.
    lines_before: usize,
    bytes: Vec<u8>,
    n_lines: usize,
}

impl dyn Format + '_ {
    /// Reads sequences on all cores, if the format allows it: [`Format::read`] for a known schema.
    ///
    /// A batch comes as several datasets, one of each chunk; those before an error are still
    /// emitted.
    pub fn read_in_chunks(
        &self,
        name: &str,
        from: &mut dyn BufRead,
        schema: &Arc<Schema>,
        batch: usize,
        emit: &mut dyn FnMut(Vec<Dataset>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let boundary = self.chunk_boundary();
        if boundary == ChunkBoundary::Nowhere {
            return self.read(Text::new(name, from), Some(schema), batch, &mut |data| emit(vec![data]));
        }
        let mut lines_before = 0;
        let mut any = false;
        let mut at_end = false;
        while !at_end {
            let mut chunks = Vec::new();
            let mut n_lines = 0;
            let mut n_bytes = 0;
            let mut unread = Ok(());
            while !at_end && n_lines < batch.max(1) && n_bytes < CHUNKS_PER_BATCH * FULL_CHUNK {
                let min_filled = batch.div_ceil(CHUNKS_PER_BATCH);
                match next_chunk(name, boundary, lines_before + n_lines, min_filled, from) {
                    Ok(chunk) => {
                        at_end = chunk.n_lines == 0;
                        n_lines += chunk.n_lines;
                        n_bytes += chunk.bytes.len();
                        chunks.push(chunk);
                    }
                    Err(error) => {
                        unread = Err(error);
                        at_end = true;
                    }
                }
            }
            lines_before += n_lines;
            let results: Vec<Result<Vec<Dataset>>> =
                chunks.into_par_iter().map(|chunk| read_chunk(self, name, &chunk, schema)).collect();
            let mut datasets = Vec::new();
            let outcome = results.into_iter().try_for_each(|read| {
                datasets.extend(read?);
                Ok(())
            });
            any |= !datasets.is_empty();
            let next = emit(datasets)?;
            outcome.and(unread)?;
            if next.is_break() {
                return Ok(());
            }
        }
        if any {
            return Ok(());
        }
        // Without a sequence, the format says what is missing.
        let end = Text { name, from, lines_before, is_chunk: false };
        self.read(end, Some(schema), batch, &mut |_| Ok(ControlFlow::Continue(())))
    }
}

/// The next chunk, with at least `min_filled` lines that are not blank unless they are long; one
/// without lines at the end of the text.
fn next_chunk(
    name: &str,
    boundary: ChunkBoundary,
    lines_before: usize,
    min_filled: usize,
    from: &mut dyn BufRead,
) -> Result<TextChunk> {
    let mut chunk = TextChunk { lines_before, bytes: Vec::new(), n_lines: 0 };
    let mut n_filled = 0;
    loop {
        let start = chunk.bytes.len();
        if !append_line(name, lines_before + chunk.n_lines, from, &mut chunk.bytes)? {
            return Ok(chunk);
        }
        chunk.n_lines += 1;
        // A TAB is a field of its own, so that a line of TABs is blank in some formats only.
        let is_blank = chunk.bytes[start..].iter().all(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
        n_filled += usize::from(!is_blank);
        let is_full = n_filled >= min_filled.max(1) || chunk.bytes.len() >= FULL_CHUNK;
        if is_full && (is_blank || boundary == ChunkBoundary::AfterLines) {
            return Ok(chunk);
        }
    }
}

fn read_chunk(
    format: &dyn Format,
    name: &str,
    chunk: &TextChunk,
    schema: &Arc<Schema>,
) -> Result<Vec<Dataset>> {
    let mut datasets = Vec::new();
    let text = Text { name, from: &mut &*chunk.bytes, lines_before: chunk.lines_before, is_chunk: true };
    format.read(text, Some(schema), usize::MAX, &mut |data| {
        datasets.push(data);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(datasets)
}
