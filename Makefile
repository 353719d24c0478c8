# Each target sets itself up in .venv, a virtual environment of this checkout.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint eval bench clean

demo: .venv/.local
	$(BIN)/clover-decide demo

# Two at a time; threads that wait must not spin, or they take the processor from each other.
test: .venv/.test
	OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0 $(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

eval: .venv/.eval
	$(BIN)/clover-decide eval run linked-500 --mode independent --mode joint --report out.html

bench: .venv/.eval
	$(BIN)/clover-decide bench

.venv/.local .venv/.eval .venv/.test: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$(subst .,,$(@F))]'
	touch $@

clean:
	rm -rf .venv build dist
