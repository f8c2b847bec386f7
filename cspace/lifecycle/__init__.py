"""Where an instance, its project's context and its archive come together: up, down, restore."""
