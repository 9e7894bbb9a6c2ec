// %%cuda stride.unit --tile 4
// Changes from strided: neighbouring threads compute neighbouring elements.
__global__ void stride(float* y, const float* x, float a, int n)
{
    int first = 4 * (blockIdx.x * BLOCK_X + threadIdx.x);
    for (int k = 0; k < 4; ++k) {
        int i = first + k;
        if (i < n)
            y[i] = a * x[i];
    }
}
