"""Optuna's TPE as a peer tuner, by ask and tell: prints a choice a line, reads {"ms", "violation"} a line.

python optuna-tuner.py SEED '{"family": [...], "graph": [...], ...}'
Ends with its best feasible choice when it reads "end".
"""
import json
import sys
import warnings

import optuna

warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
seed, space = int(sys.argv[1]), json.loads(sys.argv[2])
sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: [trial.user_attrs["violation"]])
study = optuna.create_study(sampler=sampler)
while True:
    trial = study.ask()
    choice = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
    print(json.dumps(choice), flush=True)
    line = sys.stdin.readline().strip()
    if line in ("", "end"):
        break
    told = json.loads(line)
    trial.set_user_attr("violation", told["violation"])
    # What failed or was cut off is as slow as can be.
    study.tell(trial, 1e9 if told["ms"] is None else told["ms"])
feasible = [trial for trial in study.trials if trial.value is not None and trial.user_attrs.get("violation", 1) <= 0]
print(json.dumps({"best": min(feasible, key=lambda trial: trial.value).params if feasible else None, "trials": len(study.trials) - 1}))
