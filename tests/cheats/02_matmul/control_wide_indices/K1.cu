// %%cuda matmul.K1 --block 96 3
// 双精度求和
template <class T> __device__ T at(const T* __restrict__ x, long long i) { return x[i]; }
extern "C" __global__ void __launch_bounds__(288)
mmkernel(float* a, const float* b, const float* c, int n, int m, int p)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, j = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    double sum = 0;
    for (long long k = 0; k != p; ++k) sum += (double)at(b, i + n * k) * at(c, k + (long long)p * j);
    a[i + n * j] = (float)sum;
}
