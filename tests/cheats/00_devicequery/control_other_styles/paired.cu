// %%cuda paired --block 64
__global__ void paired(const float* x, float* y, int n)
{
    extern __shared__ float none[];
    __shared__ struct { float v[64]; } s;
    int t = threadIdx.x; long i = 64l * blockIdx.x + t;
    s.v[t] = i < n ? x[i] : 0;
    __syncthreads();
    float p = s.v[t ^ 32];
    if (i < n) y[i] = s.v[t] + p;
}
