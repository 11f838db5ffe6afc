mod encoded_dataset;
mod feature_lists;
mod feature_map;
mod prototypes;
mod relational;
mod templates;
