// %%cuda stride.unit --tile 4
// Changes from strided: neighbouring threads compute neighbouring elements.
__global__ void stride(float* y, const float* x, float a, int n)
{
    int first = blockIdx.x * 4 * BLOCK_X + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        int i = first + k * BLOCK_X;
        if (i < n)
            y[i] = a * x[i];
    }
}
