# Put `include policy.mk` into your Makefile: `make policy` checks what CI checks.
.PHONY: policy
policy:
	runlens test --coverage
	runlens check calls/
	runlens --manifests manifests replay runs/
