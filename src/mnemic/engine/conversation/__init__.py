"""Conversations: messages are captured, the last of them stay in a window, and sessions end."""
