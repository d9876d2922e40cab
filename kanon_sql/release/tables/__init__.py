"""Several tables of a database that are released together, with one promise about the people in them."""
