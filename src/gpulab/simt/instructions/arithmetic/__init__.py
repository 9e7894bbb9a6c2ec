"""Arithmetic, logic and conversion instructions, and the numeric formats behind them."""
