mod bags;
mod dataset;
mod schema_and_graph;
