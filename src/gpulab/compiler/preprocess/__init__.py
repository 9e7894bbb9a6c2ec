"""The include guard: translation phases, allowed headers and compiler options, checked before NVRTC runs."""
