// %%cuda corner_of_the_halo
// Fault, line 11: after the four edges of the halo its corners are missing.
extern "C" __global__ void blur(const float* a, float* out)
{
    __shared__ float s[18][18];
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    s[y][x] = a[y * 18 + x];
    if (x == 1) s[y][0] = a[y * 18];
    if (x == 16) s[y][17] = a[y * 18 + 17];
    if (y == 1) s[0][x] = a[x];
    if (y == 16) s[17][x] = a[17 * 18 + x];
    __syncthreads();
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += s[y + dy][x + dx];
    out[threadIdx.y * 16 + threadIdx.x] = sum / 9.0f;
}
