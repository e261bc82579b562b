"""penalise_recent and choose_token: the choice that the host makes from the same scores and the same random number."""

import numpy as np
import pytest

from engine.devices.decode_samples import best_of
from engine.devices.samples import Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.errors import InputError
from engine.generate.options import Sampling
from engine.generate.sampling import Candidates, choose, penalised, uniform
from engine.graph.kernels import TOP
from tests.kernels.comparison import ODD_SIZES, check, size_name, with_operands

WIDTHS = (1, 2, 63, 300, 2_000)
SAMPLINGS = {
    "all": Sampling(1.0),
    "hot": Sampling(3.0),
    "top_k": Sampling(0.8, top_k=40),
    "one": Sampling(0.8, top_k=1),
    "top_p": Sampling(0.7, top_p=0.9),
    "no_p": Sampling(0.7, top_p=0.0),
    "min_p": Sampling(1.2, min_p=0.05),
    "all filters": Sampling(0.9, top_k=50, top_p=0.85, min_p=0.02),
    "greedy": Sampling(0.0),
}


@pytest.mark.parametrize("sizes", ODD_SIZES, ids=size_name)
@pytest.mark.parametrize("kernel", ["penalise_recent", "choose_token"])
def test_odd_shapes(device, kernel, sizes):
    check(device, make_sample(kernel, sizes))


def scores_of(width: int, seed: int) -> np.ndarray:
    """Confident ones; every third time several are equal."""
    random = np.random.default_rng(seed)
    scores = random.standard_normal((1, width)) * random.uniform(2, 6)
    return (np.round(scores, 0) if seed % 3 == 0 else scores).astype(np.float32)


def chosen_from(device, logits: np.ndarray, sampling: Sampling, chance: float) -> list[int]:
    settings = np.array([sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p, 1], np.float32)
    sample = with_operands(
        make_sample("choose_token", Sizes(b=1, l=1, v=logits.shape[1])),
        logits=logits, best=best_of(logits, min(TOP, logits.shape[1])), settings=settings,
        chances=np.array([chance], np.float32),
    )  # fmt: skip
    return run_sample(device, sample)["chosen"][0].tolist()


@pytest.mark.parametrize("name", SAMPLINGS)
def test_the_same_tokens_as_on_the_host(device, name):
    sampling, differing, undecided = SAMPLINGS[name], set(), 0
    for seed in range(40):
        logits = scores_of(WIDTHS[seed % len(WIDTHS)], seed)
        token, is_known = chosen_from(device, logits, sampling, uniform(0, seed))
        undecided += not is_known
        if is_known:
            assert token == choose(Candidates(logits[0]), sampling, [], seed), (seed, logits.shape)
            differing.add(token)
        else:
            assert token == logits.argmax()
    assert undecided <= 8, "hardly anything was chosen here"
    assert len(differing) > 5


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_the_ends_of_the_draw(device, chance):
    """One is what the highest random number is rounded to."""
    logits = np.zeros((1, 600), np.float32)
    logits[0, 580:] = -200
    expected = {0.0: [0, 1], 0.5: [290, 1], 1.0: [579, 1]}[chance]
    assert chosen_from(device, logits, Sampling(1.0, min_p=0.5), chance) == expected


@pytest.mark.parametrize("sampling", [Sampling(1.0, top_k=5), Sampling(1.0, top_p=0.0166)], ids=["top_k", "top_p"])
def test_of_equal_tokens_the_lowest_are_left(device, sampling):
    assert chosen_from(device, np.zeros((1, 300), np.float32), sampling, 0.9) == [4, 1]


@pytest.mark.parametrize("sampling", [Sampling(1.0, top_p=0.9), Sampling(1.0, top_k=TOP + 1)], ids=["top_p", "top_k"])
def test_what_needs_more_than_the_best_few_is_left_to_the_host(device, sampling):
    logits = np.zeros((1, 500), np.float32)
    logits[0, 7] = 0.5
    assert chosen_from(device, logits, sampling, 0.5) == [7, 0]


def test_each_recent_token_is_penalised_once(device):
    logits = np.array([[2.0, -2.0, 1.0, 3.0, 0.0]], np.float32)
    recent, chosen = np.array([-1, 0, 0, 1], np.int32), np.array([[0, 1], [3, 0], [3, 2]], np.int32)
    sample = make_sample("penalise_recent", Sizes(b=1, l=1, v=5))
    settings = np.array([1, 0, 1, 0, 1.5], np.float32)
    found = check(device, with_operands(sample, logits=logits, recent=recent, chosen=chosen, settings=settings))
    expected = penalised(logits[0], None, [0, 1, 3], 1.5)
    np.testing.assert_allclose(found["logits"][0], expected, rtol=1e-6)
    found = run_sample(device, with_operands(sample, logits=logits, recent=recent, chosen=None, settings=settings))
    np.testing.assert_allclose(found["logits"][0], penalised(logits[0], None, [0, 1], 1.5), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["penalise_recent", "choose_token"])
def test_two_rows_are_refused(webgpu, kernel):
    sample = make_sample(kernel, Sizes(b=1, l=2, v=5))
    with pytest.raises(InputError, match="one row"):
        run_sample(webgpu, with_operands(sample, logits=np.zeros((2, 5), np.float32)))
