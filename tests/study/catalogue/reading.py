"""What experiments of the catalogue have, for tests."""

from histreg.study.catalogue import experiment


def methods_of(name, part="test"):
    """Return the distinct methods of an experiment."""
    return {run.method for run in experiment(name).runs if run.part == part}


def of_class(methods, kind):
    return {each for each in methods if type(each) is kind}
