"""Makes a release: from a table and a policy to published and verified rows."""
