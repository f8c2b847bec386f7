"""What is broken, and the command that repairs it. Looks, and changes nothing."""
