"""Options that several commands share, and the objects made from them."""
