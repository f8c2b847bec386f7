"""What one session leaves behind: its transcript, and its notes."""
