"""The doctor: what works, what lags behind, what failed, and what to do."""
