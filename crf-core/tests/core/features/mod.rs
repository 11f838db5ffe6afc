mod encoded_dataset;
mod feature_lists;
mod feature_map;
mod limits;
mod prototypes;
mod relational;
mod templates;
