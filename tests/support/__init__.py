"""What tests and the bench share: a stub model server, real server processes, a client, a bad network."""
