"""The parts of the soak: what clients do, what all sides saw of it, and whether that balances."""
