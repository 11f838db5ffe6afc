mod games;
mod soccer;
mod tag;
