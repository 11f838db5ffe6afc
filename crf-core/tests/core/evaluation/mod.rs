mod known_labels;
mod metrics;
