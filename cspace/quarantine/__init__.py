"""What an agent left in the shared directories and could run or redirect on the host."""
