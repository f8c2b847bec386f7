"""A derived index of texts in SQLite: by words, and by meaning where there is an embedder."""
