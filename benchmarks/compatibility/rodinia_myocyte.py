"""Launch of rodinia's myocyte: the derivatives of the state of a heart muscle cell.

The equations are those of two published models: T. R. Shannon et al., "A mathematical treatment of
integrated Ca dynamics within the ventricular myocyte", Biophysical Journal 87 (2004), for currents and
calcium; J. J. Saucerman and D. M. Bers, "Calmodulin mediates differential sensitivity of CaMKII and
calcineurin to local Ca2+ in cardiac myocytes", Biophysical Journal 95 (2008), for calmodulin. The figures
are those that the program uses.
"""

from __future__ import annotations

import numpy as np

from benchmarks.compatibility.launches import Array, Launch, new, suite, uniform

__all__: list[str] = []

declare = suite("rodinia", "cuda/")

FARADAY, CAPACITANCE = 96485.0, 1.381e-10
PER_VOLT = FARADAY / 8314 / 310  # of the membrane, in 1/mV
CELL = 3.1416 * 10.25**2 * 100 * 1e-15  # volume in litres
CYTOSOL, STORE = 0.65 * CELL, 0.035 * CELL
NEAR = np.array([0.0539 * 0.01, 0.02]) * CELL  # volumes of the cleft and below the membrane
SHARE, SHARE_CA = np.array([0.11, 0.89]), np.array([0.9, 0.1])  # of the channels there
NA_OUT, CA_OUT, K_OUT = 140.0, 1.8, 5.4


def _open(v: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(v)))


def _driven(v: Array, charge: int, inside: Array, outside: float) -> Array:
    """Return the flux by the equation of Goldman, Hodgkin and Katz, without the permeability."""
    e = np.exp(charge * v * PER_VOLT)
    return np.asarray(charge**2 * v * FARADAY * PER_VOLT * (inside * e - outside) / (e - 1))


def _bound(on: float, free: Array, sites: Array | float, off: float, taken: Array) -> Array:
    return np.asarray(on * free * (sites - taken) - off * taken)


def _electric(state: Array, stimulus: float) -> Array:
    """Return the derivatives of the first 46 elements of the state, which are counted from 1 here."""
    y = np.concatenate([[0], state])
    d = np.zeros(47)
    v, na, ca = y[39], y[32:34], y[36:38]
    e_na, e_ca = np.log(NA_OUT / na) / PER_VOLT, np.log(CA_OUT / ca) / PER_VOLT / 2
    e_k, e_cl = np.log(K_OUT / y[35]) / PER_VOLT, np.log(15 / 150) / PER_VOLT

    # Sodium
    rise = np.array([0.32 * (v + 47.13) / (1 - np.exp(-0.1 * (v + 47.13))), 0, 0])
    fall = np.array([0.08 * np.exp(-v / 11), 0, 0])
    if v >= -40:
        fall[1] = _open(-(v + 10.66) / 11.1) / 0.13
        fall[2] = 0.3 * np.exp(-2.535e-7 * v) * _open(-0.1 * (v + 32))
    else:
        rise[1] = 0.135 * np.exp((80 + v) / -6.8)
        fall[1] = 3.56 * np.exp(0.079 * v) + 3.1e5 * np.exp(0.35 * v)
        rise[2] = -127140 * np.exp(0.2444 * v) - 3.474e-5 * np.exp(-0.04391 * v)
        rise[2] *= (v + 37.78) * _open(0.311 * (v + 79.23))
        fall[2] = 0.1212 * np.exp(-0.01052 * v) * _open(-0.1378 * (v + 40.14))
    d[1:4] = rise * (1 - y[1:4]) - fall * y[1:4]
    i_na = SHARE * (16 * y[1] ** 3 * y[2] * y[3] + 0.297e-3) * (v - e_na)
    sigma = (np.exp(NA_OUT / 67.3) - 1) / 7
    pump = 1 / (1 + 0.1245 * np.exp(-0.1 * v * PER_VOLT) + 0.0365 * sigma * np.exp(-v * PER_VOLT))
    i_nak = SHARE * 1.90719 * pump * K_OUT / (1 + (11 / na) ** 4) / (K_OUT + 1.5)

    # Potassium
    tau = 0.00138 * (v + 7) / (1 - np.exp(-0.123 * (v + 7)))
    d[12] = (_open(-(v + 50) / 7.5) - y[12]) * (tau + 6.1e-4 * (v + 10) / (np.exp(0.145 * (v + 10)) - 1))
    i_k = 0.03 * y[12] * _open((v + 33) / 22.4) * (v - e_k)
    tau = 7.19e-5 * (v + 30) / (1 - np.exp(-0.148 * (v + 30)))
    d[13] = (_open(-(v - 1.5) / 16.7) - y[13]) * (tau + 1.31e-4 * (v + 30) / (np.exp(0.0687 * (v + 30)) - 1))
    slow = 0.07 * (0.057 + 0.19 * _open((-7.2 - np.log10(ca) + 3) / 0.6))
    e_ks = np.log((K_OUT + 0.01833 * NA_OUT) / (y[35] + 0.01833 * y[34])) / PER_VOLT
    i_k += (SHARE * slow * y[12:14] ** 2).sum() * (v - e_ks)
    i_k += 0.001 * _open(7.488 - v / 5.98) * (v - e_k)
    opened, closed = _open(-(v + 3) / 15), _open((v + 33.5) / 10)
    d[8] = (opened - y[8]) / (9 * _open((v + 3) / 15) + 0.5)
    d[9] = (closed - y[9]) / (3e3 * _open((v + 60) / 10) + 30)
    d[40] = (closed - y[40]) / (2800 * _open((v + 60) / 10) + 220)
    d[10] = (opened - y[10]) / (3.5 * np.exp(-((v / 30) ** 2)) + 1.5)
    d[11] = (closed - y[11]) / (20 * closed + 20)
    i_k += (0.06 * y[8] * (y[9] + 0.5 * y[40]) + 0.02 * y[10] * y[11]) * (v - e_k)
    up = 1.02 * _open(0.2385 * (v - e_k - 59.215))
    down = 0.49124 * np.exp(0.08032 * (v + 5.476 - e_k)) + np.exp(0.06175 * (v - e_k - 594.31))
    down *= _open(-0.5143 * (v - e_k + 4.753))
    i_k += 0.9 * up / (up + down) * (v - e_k)

    # Chloride, calcium
    i_cl = ((SHARE * 0.109625 / (1 + 0.1 / ca)).sum() + 9e-3) * (v - e_cl)
    steady = _open(-(v + 14.5) / 6)
    d[4] = (steady - y[4]) * 0.035 * (v + 14.5) / (steady * (1 - np.exp(-(v + 14.5) / 6)))
    d[5] = _open((v + 35.06) / 3.6) + 0.6 * _open((50 - v) / 20) - y[5]
    d[5] *= 0.0197 * np.exp(-((0.0337 * (v + 14.5)) ** 2)) + 0.02
    d[6:8] = 1.7 * ca * (1 - y[6:8]) - 11.9e-3 * y[6:8]
    channel = 0.45 * SHARE_CA * y[4] * y[5] * (1 - y[6:8])
    i_ca = channel * 5.4e-4 * _driven(v, 2, 0.341 * ca, 0.341 * CA_OUT)
    i_k += channel.sum() * 2.7e-7 * _driven(v, 1, 0.75 * y[35], 0.75 * K_OUT)
    i_na_ca = channel * 1.5e-8 * _driven(v, 1, 0.75 * na, 0.75 * NA_OUT)
    back = np.exp((0.35 - 1) * v * PER_VOLT)
    mixed = 3.59e-3 * NA_OUT**3 * (1 + (na / 12.29) ** 3) + 87.5**3 * ca
    mixed += 12.29**3 * CA_OUT * (1 + ca / 3.59e-3) + (1.3 + CA_OUT) * na**3 + NA_OUT**3 * ca
    exchanged = np.exp(0.35 * v * PER_VOLT) * na**3 * CA_OUT - back * NA_OUT**3 * ca
    i_ncx = SHARE * 9 / (1 + (0.256e-3 / ca) ** 3) * exchanged / (mixed * (1 + 0.27 * back))
    i_pump = SHARE * 0.0673 * ca**1.6 / (0.5e-3**1.6 + ca**1.6)
    i_leak = SHARE * 2.513e-4 * (v - e_ca)
    totals = np.array([-i_ca.sum(), -i_pump.sum(), 2 * i_ncx.sum(), -i_leak.sum()])
    d[43:47] = totals * CAPACITANCE / (CYTOSOL * 2 * FARADAY) * 1e3

    # The store of calcium, and buffers
    sense = 15 - 14 / (1 + (0.45 / y[31]) ** 2.5)
    to_open, to_inactive, rest = 10 / sense * ca[0] ** 2, 0.5 * sense * ca[0], 1 - y[14:17].sum()
    a, b = to_open * y[14] - 0.06 * y[15], to_inactive * y[15] - 0.005 * y[16]
    d[14] = 0.005 * rest - to_inactive * y[14] - a
    d[15:17] = a - b, b - (0.06 * y[16] - to_open * rest)
    released, leaked = 25 * y[15] * (y[31] - ca[0]), 5.348e-6 * (y[31] - ca[0])
    taken, returned = (y[38] / 0.246e-3) ** 1.787, (y[31] / 1.7) ** 1.787
    pumped = 2.86e-4 * (taken - returned) / (1 + taken + returned)
    d[17:19] = _bound(0.1e-3, na, np.array([7.561, 1.65]), 1e-3, y[17:19])
    d[19] = _bound(32.7, y[38], 70e-3, 19.6e-3, y[19])
    d[20] = 2.37 * y[38] * (140e-3 - y[20] - y[21]) - 0.032e-3 * y[20]
    d[21] = 3e-3 * (140e-3 - y[20] - y[21]) - 3.33e-3 * y[21]
    d[23] = 13.8 * y[38] * (140e-3 - y[23] - y[24]) - 0.46e-3 * y[23]
    d[24] = 0.0157 * (140e-3 - y[23] - y[24]) - 0.057e-3 * y[24]
    d[25] = _bound(100, y[38], 19 * 0.9e-3, 60e-3, y[25])
    scale = CYTOSOL / NEAR * np.array([0.1, 1])
    d[26:28] = _bound(100, ca, np.array([4.62e-3, 37.38e-3]) * scale, 1.3, y[26:28])
    d[28:30] = _bound(100, ca, np.array([1.65e-3, 13.35e-3]) * scale, 30e-3, y[28:30])
    d[30] = _bound(100, y[31], 2.7, 65, y[30])

    # Concentrations and voltage
    d[31] = (pumped - leaked) * CYTOSOL / STORE - released - d[30]
    all_na, all_ca = i_na + 3 * i_ncx + 3 * i_nak + i_na_ca, i_ca + i_leak + i_pump - 2 * i_ncx
    inward_na, inward_ca = 3 / 1.8308e10 / 100, 1 / 2.6851e11
    between = np.array([1, -1])
    d[32:34] = -all_na * CAPACITANCE / (NEAR * FARADAY) - d[17:19]
    d[32:34] += 3 / 1.6382e12 / 100 / NEAR * (na[1] - na[0]) * between
    d[33] += inward_na / NEAR[1] * (y[34] - na[1])
    d[34] = inward_na / CYTOSOL * (na[1] - y[34])
    d[36:38] = -all_ca * CAPACITANCE / (NEAR * 2 * FARADAY) - d[26:28] - d[28:30]
    d[36:38] += 1 / 1.2134e12 / NEAR * (ca[1] - ca[0]) * between
    d[36] += released * STORE / NEAR[0] + leaked * CYTOSOL / NEAR[0]
    d[37] += inward_ca / NEAR[1] * (y[38] - ca[1])
    d[38] = -pumped - d[19:26].sum() + inward_ca / CYTOSOL * (ca[1] - y[38])
    d[39] = stimulus - (all_na.sum() + i_cl + all_ca.sum() + i_k - 2 * i_nak.sum())
    return d[1:]


def _calmodulin(c: Array, ca: float, constants: Array, k: float, mg: float) -> Array:
    """Return the derivatives of 15 concentrations of calmodulin and its partners."""
    _, buffer, kinase, phosphatase, pp1 = constants
    two = 0.0025 * (1 + k / 0.94 - mg / 0.012) * (1 + k / 8.1 + mg / 0.022)
    four = 0.128 * (1 + k / 0.64 + mg / 0.0014) * (1 + k / 13 - mg / 0.153)
    on = np.array([10 / two, 500 / four]) * ca**2
    d = np.zeros(15)

    def bind(fluxes: Array, start: int, rows: Array) -> None:
        """Move free, buffered or phosphatase-bound calmodulin on to two and to four ions."""
        d[start : start + 3] += np.array([-fluxes[0], fluxes[0] - fluxes[1], fluxes[1]]) + rows

    free, bound, phos, kin = c[:3], c[3:6], c[12:15], c[6:11]
    to_buffer = 0.0014 / 0.2 * free * (buffer - bound.sum()) - np.array([1, 0.01, 0.01]) * 0.0014 * bound
    off = 0.0013 * np.array([165 * 2508, 2508, 1])
    to_phos = 46 * free * c[11] - off * phos
    pix = 1 - kin.sum()
    pb2, pb, pt, pt2, pa = kin
    ib = 2.2 / 33.5e-3
    ib2, b2b = ib * (free[1] * pix - 5 * pb2), on[1] * pb2 - 500 * 33.5e-3 / 5 * pb
    ib4 = ib * free[2] * pix - 2.2 * pb
    active = pb + pt + pt2 + pa
    dephos = 1.72 * pp1 * kin / (11.5 + kinase * kin)
    bt = (0.055 * active + 0.0074 * active**2 + 0.015 * active**3) * pb - dephos[2]
    tt2, ta = 500 * 33.5e-6 / 5 * pt - on[1] * pt2, 2.2e-3 * pt - ib * free[2] * pa
    t2a = ib * (5 * pt2 - free[1] * pa)
    to_kinase = kinase * np.array([0, ib2 - t2a, ib4 - ta])
    bind(on * free[:2] - np.array([10, 500]) * free[1:], 0, -to_buffer - to_phos - to_kinase)
    bind(on * bound[:2] - np.array([0.1, 500]) * bound[1:], 3, to_buffer)
    bind(on * phos[:2] - np.array([10 / 165, 10 / 2508]) * phos[1:], 12, to_phos)
    d[6:11] = (
        ib2 - b2b + dephos[3],
        ib4 + b2b - bt,
        bt - ta - tt2,
        tt2 - t2a - dephos[3],
        ta + t2a - dephos[4],
    )
    d[11] = 2 * ca**2 * (phosphatase - c[11:].sum()) - c[11] - to_phos.sum()
    return 1e-3 * d


@declare("myocyte/kernel.cu", "kernel")
def derivatives(_scale: int) -> Launch:
    state = uniform(91, low=0.05, high=0.2)
    state[:16] = uniform(16, low=0.1, high=0.3)
    state[16:30] = uniform(14, low=0.01, high=0.06)
    state[30:39] = 0.55, 9.1, 8.8, 9.0, 135, 6e-4, 4e-4, 3e-4, -72.5
    state[46:] = uniform(45, low=0.01, high=0.15)
    constants = uniform(18, low=1, high=20, seed=1)
    constants[15:] = 700, 135, 0.8
    x, p = state.astype(np.float64), constants.astype(np.float64)
    expected = [_electric(x[:46], 9.5)]
    for n in range(3):
        start = 46 + 15 * n
        expected.append(_calmodulin(x[start:][:15], x[35 + n] * 1e3, p[5 * n :][:5], p[16], p[17]))
    wanted = np.concatenate(expected)
    # The first three are also written by the block that computes calmodulin: the order decides.
    right = lambda got: bool(np.isclose(got, wanted, 1e-4, 1e-9)[3:].all())  # noqa: E731
    alarms = "both blocks write the first three derivatives"
    args = [2, state, new(91), constants, np.zeros(3, np.float32)]
    return Launch(2, 32, args, {2: right}, true_alarms=alarms)
