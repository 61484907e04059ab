"""Who is asking, what this run may do, and the record of all that happened."""
