"""data.py SHIFT: prints records with fields that need escaping, nulls and NaN; SHIFT changes the distributions."""

import json
import random
import sys

shift = int(sys.argv[1])
random.seed(shift)
for i in range(2000):
    record = {
        "id": i,
        "tokens": [random.randrange(500) for _ in range(int(random.expovariate(1 / 40)) + shift)],
        "score": None if i % 10 == 0 else "NaN" if i % 97 == 0 else random.gauss(shift, 1),
        "lang": random.choice(["de", "en", "it" if shift else "fr", "pl<b>&amp;"]),
    }
    record["new field & <x>" if shift else "old"] = i % 7
    print(json.dumps(record))
