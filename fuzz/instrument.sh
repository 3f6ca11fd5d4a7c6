#!/bin/sh
# instrument.sh RUSTC ARGUMENT...: RUSTC_WRAPPER of coverage.sh: only this crate and its targets count executions.
case " $* " in
    *" --crate-name tatter "* | *" --crate-name tatter_mutate "*) exec "$@" -C instrument-coverage ;;
    *) exec "$@" ;;
esac
