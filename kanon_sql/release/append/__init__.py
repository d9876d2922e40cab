"""New rows for a release that was published: labels as it has them, and classes large enough by themselves."""
