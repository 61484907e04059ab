"""Engine, write units, tenancy and tables. Knows SQL and nothing of runs, packages or HTTP."""
