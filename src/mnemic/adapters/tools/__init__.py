"""Tools that ask a server: functions with type hints, made tools where everything is put together."""
