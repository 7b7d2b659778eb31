"""Constants of log and exp for compiled loops, which have no branches.

A loop over an array that calls ``np.exp`` evaluates one number at a time.
"""

import numpy as np

# Of log: the polynomial of fdlibm's e_log.c (Sun Microsystems 1993), off by 1 ulp.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LG1, LG2 = 6.666666666666735130e-01, 3.999999999940941908e-01
LG3, LG4 = 2.857142874366239149e-01, 2.222219843214978396e-01
LG5, LG6 = 1.818357216161805012e-01, 1.531383769920937332e-01
LG7 = 1.479819860511658591e-01
SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
# Of exp: added to a number below 2^51 it leaves the nearest whole number in the bits.
ROUNDING = 6755399441055744.0
LOG2_E = 1.44269504088896338700
E3, E4, E5, E6, E7 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
E8, E9, E10, E11 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800
E12, E13 = 1 / 479001600, 1 / 6227020800
