"""The targets of the data sets, and the theory: biases, the bound, the theorems."""

from __future__ import annotations

from histreg.study.catalogue.experiment import Experiment, FigureSpec, TableSpec
from histreg.study.catalogue.tabular_runs import DATA
from histreg.study.measurements import Measurement

EXPERIMENTS = (
    Experiment(
        "targets",
        "Targets of the data sets",
        "Figure 14 and Table 5",
        "How are the targets distributed?",
        tuple(Measurement("targets", name) for name in DATA),
        protocol="No training: rows, columns and targets of each data set, beside "
        "what the paper says of them.",
        table=TableSpec("targets", title="Data sets"),
        figure=FigureSpec(
            "targets", "The density of each data set's targets, in 30 bins."
        ),
        conclusion="targets",
    ),
    Experiment(
        "bias",
        "Bias simulation",
        "Figure 13",
        "How much do bins and truncation move the mean of a Gaussian target?",
        (Measurement("bias"), Measurement("bias-by-text")),
        protocol="No training, no data: the mean of a Gaussian target minus its y, "
        "for a range of sigmas (discretisation) and of paddings (truncation), which "
        "are those of the authors' code. Twice: with y over one bin, as in the code; "
        "and with y over 100 bins, as in the text. The text's 100 bins cannot hold "
        "its padding of 100, so that its discretisation has 100 more bins on each "
        "side; its truncation follows its formula, with 100 bins in all.",
        table=TableSpec("bias"),
        figure=FigureSpec(
            "bias",
            "The bias over the place in a bin and sigma; its mean size over sigma; "
            "and over the padding. Above as in the authors' code, below as in the "
            "paper's text, with the code's means in grey.",
        ),
    ),
    Experiment(
        "bound",
        "Prediction bound",
        "Figure 12",
        "How tight are the two bounds on the difference of means?",
        (Measurement("bound"),),
        protocol="Two distributions on -1 and 1, whose divergence is known: the "
        "squared difference of their means, and the paper's two bounds on it.",
        table=TableSpec("bound"),
        figure=FigureSpec(
            "bound", "The squared difference of means and both bounds over epsilon."
        ),
        conclusion="bound",
    ),
    Experiment(
        "theorems",
        "Theorems as numbers",
        "Sections 2 and 3, Appendices A to C",
        "Do the paper's propositions and formulas hold, to rounding, of this code?",
        (Measurement("theorems"),),
        protocol="No data: the worst case of each statement over many random cases, "
        "in float64.",
        table=TableSpec("theorems"),
        figure=FigureSpec(
            "theorems", "How far each worst case stays below its tolerance."
        ),
    ),
)
