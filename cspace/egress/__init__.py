"""What may leave an instance's network, who lets it, what was refused, what is observed."""
