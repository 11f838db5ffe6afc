mod potentials;
