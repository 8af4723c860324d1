#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how often the best possible rule finds a GPU that is 3 % slow in uncorrelated noise of 1 %, beside one other GPU.

The rule names a rank in 2 % of even jobs whose noise has the autocorrelation 0, 0.5 or 0.8. It does not know the size of the noise: the
likelihoods are integrated over it, which gives the most powerful invariant test (E. L. Lehmann, J. P. Romano, "Testing statistical
hypotheses", 2005, chapter 6). It reads the differences of the two ranks, or also their sums. Needs numpy.
"""

import math

import numpy

JOBS = 60_000
DELAY = 3.0  # standard deviations of a step
FALSE_NAMES = 0.02


def covariance(steps: int, decay: float) -> numpy.ndarray:
    """Of the differences (or sums) of the times of two ranks."""
    at = numpy.arange(steps)
    return 2.0 * decay ** abs(at[:, None] - at[None, :])


def squares(values: numpy.ndarray, root: numpy.ndarray) -> numpy.ndarray:
    return (numpy.linalg.solve(root, values.T) ** 2).sum(axis=0)


def share_found(random: numpy.random.Generator, steps: int, decay: float, has_sums: bool) -> float:
    even, slow = (numpy.linalg.cholesky(covariance(steps, each)) for each in (decay, 0.0))
    # The mean of the sums is unknown, so only their contrasts count.
    contrasts = numpy.linalg.qr(numpy.c_[numpy.ones(steps), numpy.eye(steps)[:, : steps - 1]])[0][:, 1:].T
    even_sum, slow_sum = (numpy.linalg.cholesky(contrasts @ covariance(steps, each) @ contrasts.T) for each in (decay, 0.0))
    count = steps + (steps - 1 if has_sums else 0)
    log_determinant = [
        numpy.log(numpy.diag(root)).sum() + (numpy.log(numpy.diag(of_sum)).sum() if has_sums else 0.0)
        for root, of_sum in ((even, even_sum), (slow, slow_sum))
    ]

    def evidence(differences: numpy.ndarray, sums: numpy.ndarray) -> numpy.ndarray:
        under_even = squares(differences, even) + (squares(sums, even_sum) if has_sums else 0.0)
        even_likelihood = (count / 2 - 1) * math.log(2) + math.lgamma(count / 2) - count / 2 * numpy.log(under_even)
        of_sums = squares(sums, slow_sum) if has_sums else 0.0
        sizes = numpy.exp(numpy.linspace(math.log(0.2), math.log(6.0), 120))
        slow_likelihood = numpy.full(len(differences), -numpy.inf)
        for size in sizes:
            either = numpy.logaddexp(*(-0.5 * squares(differences / size - way, slow) for way in (DELAY, -DELAY)))
            term = either - 0.5 * of_sums / size**2 - count * math.log(size)
            slow_likelihood = numpy.logaddexp(slow_likelihood, term)
        return slow_likelihood - log_determinant[1] - even_likelihood + log_determinant[0]

    def jobs(root: numpy.ndarray, of_sum: numpy.ndarray, delay: float) -> numpy.ndarray:
        way = random.choice([-1.0, 1.0], size=(JOBS, 1))
        differences = random.standard_normal((JOBS, steps)) @ root.T + delay * way
        return evidence(differences, random.standard_normal((JOBS, steps - 1)) @ of_sum.T)

    limit = numpy.quantile(jobs(even, even_sum, 0.0), 1.0 - FALSE_NAMES)
    return float((jobs(slow, slow_sum, DELAY) > limit).mean())


def main() -> None:
    random = numpy.random.default_rng(1)
    print("steps  autocorrelation  from differences %  from both %")
    for steps in (8, 12, 20):
        for decay in (0.0, 0.5, 0.8):
            found = [100.0 * share_found(random, steps, decay, has_sums) for has_sums in (False, True)]
            print(f"{steps:5}  {decay:15}  {found[0]:18.1f}  {found[1]:11.1f}", flush=True)


if __name__ == "__main__":
    main()
