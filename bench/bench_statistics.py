# SPDX-License-Identifier: Apache-2.0
"""Ratios over rounds with a 95 % interval: bootstrap of whole rounds, with a fixed seed, so that equal rounds give equal intervals."""
import collections
import math
import random
import statistics

MIN_ROUNDS = 5  # fewer rounds have no interval
RESAMPLES = 2000
SEED = 1

# Both ends are None without an interval. The upper end alone is None if it is unbounded, because the denominator can be zero or negative.
Ratio = collections.namedtuple("Ratio", "ratio low high rounds")


def ratio_of_medians(above, below):
    """@return the ratio of the medians; infinite if the denominator is not positive. It is not biased by rounds with a negative denominator."""
    denominator = statistics.median(below)
    return statistics.median(above) / denominator if denominator > 0 else math.inf


def median_of_ratios(above, below):
    """For denominators that are always positive."""
    return statistics.median(a / b for a, b in zip(above, below))


def with_interval(above, below, ratio_of=ratio_of_medians, resamples=RESAMPLES):
    """@param above, below a value for each round
    @param resamples 0: no interval
    @return the ratio with its 95 % interval. None without rounds, or if the ratio is not finite."""
    rounds = list(zip(above, below))
    ratio = ratio_of(*zip(*rounds)) if rounds else math.inf
    if not math.isfinite(ratio):
        return None
    if len(rounds) < MIN_ROUNDS or resamples == 0:
        return Ratio(ratio, None, None, len(rounds))
    generator = random.Random(SEED)
    resampled = sorted(ratio_of(*zip(*generator.choices(rounds, k=len(rounds)))) for _ in range(resamples))
    low, high = (each if math.isfinite(each) else None for each in (resampled[resamples // 40], resampled[resamples - 1 - resamples // 40]))
    return Ratio(ratio, low, high, len(rounds))


def verdict(low, high, target):
    """@return whether the whole interval is at most the target ("met"), or above it ("missed"); "undecided" otherwise."""
    if low is None:
        return "undecided"
    return "met" if high is not None and high <= target else "missed" if low > target else "undecided"


def interval_text(low, high, form="{:.2f}"):
    if low is None:
        return "n/a"
    return f"{form.format(low)} to {'unbounded' if high is None else form.format(high)}"
