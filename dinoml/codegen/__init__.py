"""Rendering lowered kernels and run plans as C++, CUDA and HIP."""
