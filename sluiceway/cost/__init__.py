"""What models cost: prices, and the arithmetic that the Worker's ledgers do too."""
