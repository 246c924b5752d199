"""The public kit: conformance suites and fault injection for adapters."""
