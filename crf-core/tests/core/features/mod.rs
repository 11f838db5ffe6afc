mod encoded_dataset;
mod feature_map;
mod features;
mod prototypes;
mod relational;
mod templates;
