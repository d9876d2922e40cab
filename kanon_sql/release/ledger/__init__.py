"""The ledger: which releases were made from a table, and whether a new one goes together with them."""
