"""Reads chat logs and exports of other programs into conversations; pure: from text to message drafts."""

from mnemic.text.chatlogs.conversation import LoggedConversation, LogReading
from mnemic.text.chatlogs.detect import FORMATS, read_log

__all__ = ["FORMATS", "LogReading", "LoggedConversation", "read_log"]
