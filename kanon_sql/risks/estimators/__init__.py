"""What a table lets strangers find out about who is in it, in figures."""
