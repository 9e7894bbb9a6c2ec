// K1: column-major a = b c, one thread per element, all operands from global memory; i runs over threads.
extern "C" __global__ void sgemm_k1(float* a, const float* b, const float* c, int n, int m, int p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    float sum = 0.0f;
    for (int k = 0; k < p; k++) sum += b[i + n * k] * c[k + p * j];
    a[i + n * j] = sum;
}
