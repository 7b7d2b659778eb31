"""Runs on tables by the common protocol."""

import pytest

from histreg.study.catalogue import experiment, selected


# The paper's common protocol: epochs, hidden layers and dropout.
@pytest.mark.parametrize(
    ("name", "epochs", "hidden", "dropout"),
    [
        ("ct", 1000, (192,) * 4, 0.05),
        ("song", 150, (45,) * 4, 0.05),
        ("bike", 500, (64,) * 4, 0.0),
        ("pole", 500, (24,) * 3, 0.0),
    ],
)
def test_networks_have_the_protocol_of_their_data_set(name, epochs, hidden, dropout):
    (run,) = selected(
        experiment("overall").runs, datasets=[name], methods=["HL-Gauss"], seeds=[3]
    )
    found = (run.epochs, run.hidden, run.dropout, run.learning_rate, run.batch_size)
    assert found == (epochs, hidden, dropout, 1e-3, 256)
