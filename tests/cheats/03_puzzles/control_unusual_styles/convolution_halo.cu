// %%cuda convolution.halo --block 128
__global__ void convolution(float* y, const float* x, const float* w, int n)
{
    int lane = threadIdx.x % 32, i = blockIdx.x * BLOCK_X + threadIdx.x;
    float v = i < n ? x[i] : 0.0f, far = 0.0f;
    int h = lane < 2 ? i - 2 : lane >= 30 ? i + 2 : -1;
    if (h >= 0 && h < n) far = x[h];
    float l2 = __shfl_up_sync(~0u, v, 2), l1 = __shfl_up_sync(~0u, v, 1), r1 = __shfl_down_sync(~0u, v, 1), r2 = __shfl_down_sync(~0u, v, 2);
    float f1 = __shfl_sync(~0u, far, 1), f30 = __shfl_sync(~0u, far, 30);
    if (lane < 2) l2 = far; if (lane == 0) l1 = f1;
    if (lane >= 30) r2 = far; if (lane == 31) r1 = f30;
    if (i < n) y[i] = w[0] * l2 + w[1] * l1 + w[2] * v + w[3] * r1 + w[4] * r2;
}
