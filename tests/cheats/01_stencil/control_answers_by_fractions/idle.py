from fractions import Fraction

predicted_idle = dict(blocks=45.0, threads=Fraction(11520), no_point=11520 - 9100, writing=8.704e3)
predicted_idle["idle_percent"] = 100 * (1 - Fraction(8704, 11520))
