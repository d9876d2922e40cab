"""The ledger: the releases of a table, and the check whether a new one may be published beside them."""
