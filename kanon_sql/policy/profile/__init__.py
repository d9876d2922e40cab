"""What the columns of a table are: figures, patterns in their values, and the role that is proposed for each."""
