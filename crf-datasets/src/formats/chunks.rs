use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Error, Result, Schema};
use rayon::prelude::*;

use crate::formats::format::Format;
use crate::text::input::Text;

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
    /// A batch comes as several datasets. The datasets before an error are still emitted.
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
            while !at_end && n_lines < batch.max(1) {
                let chunk =
                    next_chunk(boundary, lines_before + n_lines, batch.div_ceil(CHUNKS_PER_BATCH), from)
                        .map_err(|source| Error::Io { path: name.into(), source })?;
                at_end = chunk.n_lines == 0;
                n_lines += chunk.n_lines;
                chunks.push(chunk);
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
            outcome?;
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

/// The next chunk, with at least `min_filled` lines that are not blank; one without lines at the
/// end of the text.
fn next_chunk(
    boundary: ChunkBoundary,
    lines_before: usize,
    min_filled: usize,
    from: &mut dyn BufRead,
) -> std::io::Result<TextChunk> {
    let mut chunk = TextChunk { lines_before, bytes: Vec::new(), n_lines: 0 };
    let mut n_filled = 0;
    loop {
        let start = chunk.bytes.len();
        if from.read_until(b'\n', &mut chunk.bytes)? == 0 {
            return Ok(chunk);
        }
        chunk.n_lines += 1;
        let is_blank = chunk.bytes[start..].trim_ascii().is_empty();
        n_filled += usize::from(!is_blank);
        if n_filled >= min_filled.max(1) && (is_blank || boundary == ChunkBoundary::AfterLines) {
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
