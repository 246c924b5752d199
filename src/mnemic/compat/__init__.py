"""Interfaces of other libraries over Mnemic, so that their programs run with the import changed."""
