// %%cuda vector.ragged --tile 4
// Four elements with one load; the last elements one by one.
__global__ void vector(float* y, const float* x, float a, int n)
{
    int i = 4 * (blockIdx.x * BLOCK_X + threadIdx.x);
    if (i + 3 < n) {
        for (int k = 0; k < 4; ++k)
            ((volatile float*) y)[i + k] = a * ((volatile const float*) x)[i + k];
    } else {
        for (; i < n; ++i)
            y[i] = a * x[i];
    }
}
