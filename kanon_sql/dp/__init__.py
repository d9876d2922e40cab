"""Differential privacy: answers and releases that say nearly the same whether a person is in a table or not."""
