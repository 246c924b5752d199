"""Backup files."""
