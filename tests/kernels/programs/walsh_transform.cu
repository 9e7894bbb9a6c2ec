// %%cuda walsh_transform
// The fast Walsh-Hadamard transform: two stages at a time in global memory, the last 256 points in shared memory.
extern "C" __global__ void two_stages(float* data, int stride, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n / 4) return;
    float* p = data + (t / stride) * 4 * stride + t % stride;
    const float a = p[0] + p[2 * stride], b = p[stride] + p[3 * stride];
    const float c = p[0] - p[2 * stride], d = p[stride] - p[3 * stride];
    p[0] = a + b;
    p[stride] = a - b;
    p[2 * stride] = c + d;
    p[3 * stride] = c - d;
}

extern "C" __global__ void last_stages(float* data)
{
    __shared__ float s[256];
    const int t = threadIdx.x;   // 128 threads, a pair each
    float* mine = data + blockIdx.x * 256;
    s[t] = mine[t];
    s[t + 128] = mine[t + 128];
    for (int stride = 128; stride > 0; stride >>= 1) {
        __syncthreads();
        const int low = 2 * t - (t & (stride - 1));
        const float a = s[low], b = s[low + stride];
        s[low] = a + b;
        s[low + stride] = a - b;
    }
    __syncthreads();
    mine[t] = s[t];
    mine[t + 128] = s[t + 128];
}

extern "C" __global__ void multiply(float* a, const float* b, float scale, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] *= b[i] * scale;
}
