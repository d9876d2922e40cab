/* Number of the current transaction; outside of one, each statement is a transaction of its own. */
SELECT TXID_CURRENT()
