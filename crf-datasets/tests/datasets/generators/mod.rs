mod sources;
mod statistics;
