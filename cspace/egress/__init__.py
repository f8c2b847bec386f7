"""What may leave an instance's network: names, the proxy's rules, its refusals, what is observed."""
