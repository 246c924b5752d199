"""The door REST: every verb under `/v1`, described at `/openapi.json`."""
