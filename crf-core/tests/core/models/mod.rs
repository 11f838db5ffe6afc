mod constraints;
mod edge_scores;
