// %%cuda tile_without_zeros
// Fault, line 8: past the end of v the second tile keeps its old values.
extern "C" __global__ void product(const float* a, const float* v, float* out, int columns)
{
    __shared__ float piece[2][32];
    int t = threadIdx.x;
    piece[0][t] = v[t];
    if (32 + t < columns)
        piece[1][t] = v[32 + t];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 64; ++k)
        sum += piece[k / 32][k % 32] * a[t * columns + min(k, columns - 1)];
    out[t] = sum;
}
