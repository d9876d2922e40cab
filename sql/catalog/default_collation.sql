/* How text is compared where a column says nothing else. */
SELECT CURRENT_SETTING('default_collation')
