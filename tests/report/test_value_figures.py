"""Figures of the values of games, of records made by hand."""

import numpy as np
import pytest
from matplotlib.text import Text

from histreg.report.experiment_figures import figure_of
from histreg.study.analysis.paper import published_log_ratios
from histreg.study.catalogue import VALUE_GAMES, VALUE_HL
from histreg.study.methods import L2
from tests.report.examples import RECORDS, values
from tests.report.reading import axes_of, data_of, lines_of
from tests.study.made_up import value_records


def dots_of(ax, label):
    (found,) = [each for each in ax.collections if each.get_label() == label]
    return sorted(map(tuple, np.asarray(found.get_offsets()).round(9).tolist()))


def names_of(ax):
    """Return the names with the dots that they are at."""
    return {text.get_text(): tuple(text.xy) for text in ax.texts}


def test_episodes_lie_along_the_file_and_those_that_ended_have_a_mark():
    (ax,) = axes_of("replays", RECORDS["replays"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Alien", "Pong"]
    test, train, over, late = ax.collections[:4]
    assert (test.get_label(), train.get_label()) == ("test", "train")
    across = [
        [tuple(path.get_extents().intervalx) for path in each.get_paths()]
        for each in (test, train, over, late)
    ]
    assert across == [[(0, 301)], [(302, 700), (700, 1000)], [(301, 301)], [(700, 700)]]


def test_a_dot_is_a_game_with_its_seeds_beside_it():
    mae, rmse, _ = axes_of("values", RECORDS["values"])
    assert dots_of(mae, "a game") == [(0.01, 0.0125), (0.03, 0.015), (0.06, 0.015)]
    assert dots_of(rmse, "a game") == [(0.02, 0.025), (0.06, 0.03), (0.12, 0.03)]
    assert dots_of(mae, "a seed") == [
        *((0.01, 0.005), (0.01, 0.02), (0.02, 0.01)),
        *((0.04, 0.01), (0.04, 0.02), (0.08, 0.02)),
    ]
    assert mae.get_xlabel() == "l2, test MAE"
    assert rmse.get_ylabel() == "HL-Gauss, test RMSE"
    for ax in (mae, rmse):
        assert ax.get_xscale() == ax.get_yscale() == "log"
        assert ax.get_xlim() == ax.get_ylim()


def test_lines_are_where_both_are_alike_the_mean_ratio_and_the_slope():
    mae, *_ = axes_of("values", RECORDS["values"])
    factors = {
        label: (y / x).tolist()
        for label, line in lines_of(mae).items()
        if label not in ("a seed", "a game")
        for x, y in [data_of(line)]
    }
    slope = 0.001475 / 0.0046  # as the table's test has it
    for label, expected in {
        "both alike": 1.0,
        "geometric mean of the ratios": 0.5,
        "least-squares slope through the origin": slope,
    }.items():
        assert factors.pop(label) == pytest.approx([expected] * 2)
    assert factors == {}
    assert mae.get_title().endswith("lower in 2 of 3\nratio 0.500, slope 0.321")


def test_our_ratios_are_against_the_papers():
    *_, ax = axes_of("values", RECORDS["values"])
    found = names_of(ax)
    assert found["Pong"] == pytest.approx((-1.04837157, np.log(0.25)))
    assert found["Breakout"] == pytest.approx((-0.501591493, np.log(0.5)))
    assert ax.get_xlim() == ax.get_ylim()


def test_what_the_paper_does_not_have_has_no_drawing_against_it():
    assert len(axes_of("values-textbook", RECORDS["values-textbook"])) == 2
    assert len(axes_of("values", values({"Tennis": ([0.2], [0.1])}))) == 2
    records = values({"Tennis": ([0.2], [0.1]), "Pong": ([0.2], [0.1])})
    assert list(names_of(axes_of("values", records)[-1])) == ["Pong"]


def test_the_other_target_says_so():
    figure = figure_of("values-textbook", RECORDS["values-textbook"])
    assert figure.get_suptitle().endswith("; textbook target")
    usual = figure_of("values", RECORDS["values"])
    assert "textbook" not in usual.get_suptitle()


def test_the_title_tells_how_many_games_and_frames_there_are():
    title = figure_of("values", RECORDS["values"]).get_suptitle()
    assert title.startswith("3 of the paper's 55 games, the first 250,000 frames")


def test_names_of_all_games_can_be_read():
    # As crowded as the paper's ratios make it, on errors that are hardly apart.
    errors = {
        game: ([0.02 + 0.002 * i] * 2, [(0.02 + 0.002 * i) * np.exp(log)] * 2)
        for i, game in enumerate(VALUE_GAMES)
        for log in [published_log_ratios()[game]]
    }
    figure = figure_of("values", values(errors))
    figure.draw_without_rendering()
    for ax in figure.axes:
        boxes = [Text.get_window_extent(name) for name in ax.texts]  # without lines
        assert len(boxes) == len(VALUE_GAMES)
        for i, one in enumerate(boxes):
            assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_the_legend_has_each_thing_once():
    (legend,) = figure_of("values", RECORDS["values"]).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == len(set(names)) == 5


@pytest.mark.parametrize(
    "records",
    [
        value_records("Pong", L2(), [0.1, 0.2]),
        [
            *value_records("Pong", L2(), [0.1], diverged=[1]),
            *value_records("Pong", VALUE_HL, [0.1]),
        ],
    ],
    ids=["one loss", "diverged"],
)
def test_without_a_game_of_both_losses_it_is_refused(records):
    with pytest.raises(ValueError, match="must have a game with both losses"):
        figure_of("values", records)
