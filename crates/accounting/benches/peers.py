"""Times the peers: one line of JSON per measurement, medians of CPU seconds over five calls."""

import json
import statistics
import time
import warnings

warnings.filterwarnings("ignore")

import dp_accounting as dp
from dp_accounting import pld, rdp
from autodp import rdp_acct, rdp_bank, privacy_calibrator

Q, SIGMA, STEPS, DELTA, N = 0.001, 1.5, 100_000, 1e-5, 1000
ADD = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp.NeighboringRelation.REPLACE_ONE


def poisson(sigma):
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(Q, dp.GaussianDpEvent(sigma)), STEPS)


def fixed(sigma):
    return dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(N, 1, dp.GaussianDpEvent(sigma)), STEPS)


def rdp_fixed(orders=None):
    accountant = rdp.RdpAccountant(orders, REPLACE)
    return accountant.compose(fixed(SIGMA)).get_epsilon(DELTA)


def pld_poisson(step):
    accountant = pld.PLDAccountant(ADD, value_discretization_interval=step)
    return accountant.compose(poisson(SIGMA)).get_epsilon(DELTA)


def pld_calibration():
    make = lambda: pld.PLDAccountant(ADD, value_discretization_interval=1e-4)
    bracket = dp.ExplicitBracketInterval(0.5, 6)
    return dp.calibrate_dp_mechanism(make, poisson, 1.0, DELTA, bracket, tol=1e-6)


def autodp_fixed():
    accountant = rdp_acct.anaRDPacct()
    accountant.compose_subsampled_mechanism(lambda a: rdp_bank.RDP_gaussian({"sigma": SIGMA}, a), Q, coeff=STEPS)
    return accountant.get_eps(DELTA)


def autodp_calibration():
    return privacy_calibrator.gaussian_mech(1.0, DELTA, k=STEPS, prob=Q)["sigma"]


def measure(name, call, repeats=5):
    call()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        value = call()
        seconds.append(time.process_time() - start)
    print(json.dumps({"name": name, "value": float(value), "seconds": statistics.median(seconds)}), flush=True)


measure("rdp fixed: dp-accounting, default orders", rdp_fixed)
measure("rdp fixed: autodp, theorem 9", autodp_fixed)
measure("rdp fixed: dp-accounting, orders 2..256", lambda: rdp_fixed(list(range(2, 257))), repeats=1)
measure("pld poisson: dp-accounting, step 1e-4", lambda: pld_poisson(1e-4))
measure("pld poisson: dp-accounting, step 1e-5", lambda: pld_poisson(1e-5))
measure("calibration: dp-accounting pld, step 1e-4", pld_calibration)
measure("calibration: autodp", autodp_calibration)
