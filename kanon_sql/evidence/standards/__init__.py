"""Rules of standards, checked on a published table one by one, with the figures."""
