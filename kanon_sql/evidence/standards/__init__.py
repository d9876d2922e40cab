"""What a published table has of what standards ask: rule by rule, with what was measured."""
