"""The simulator, which executes PTX on the CPU. It does not depend on labs, notebooks or grading."""
