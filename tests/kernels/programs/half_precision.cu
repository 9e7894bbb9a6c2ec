// %%cuda half_precision
// Half precision: a fused multiply-add of one value and of two, and a dot product that is summed in float.
#include <cuda_fp16.h>

extern "C" __global__ void axpy(float a, const __half* x, __half* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma(__float2half(a), x[i], y[i]);
}

extern "C" __global__ void axpy_pairs(float a, const __half2* x, __half2* y, int pairs)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

extern "C" __global__ void dot(const __half* x, const __half* y, float* sum, int n)
{
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += __half2float(x[i]) * __half2float(y[i]);
    for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}
