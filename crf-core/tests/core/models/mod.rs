mod constraints;
