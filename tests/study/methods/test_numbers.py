from histreg.study.methods import L1, L2, L2Noise


def test_kinds_of_l2_are_trained_as_one_and_l1_apart():
    assert L2().group == L2Noise(0.1).group
    assert L2().group != L1().group
