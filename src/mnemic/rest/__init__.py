"""The REST door: every verb under `/v1`, described at `/openapi.json`."""
