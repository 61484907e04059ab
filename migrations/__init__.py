"""The Alembic history of the core tables. Packages bring histories of their own."""
