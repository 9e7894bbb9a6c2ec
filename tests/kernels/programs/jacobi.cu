// %%cuda jacobi
// One Jacobi step of Laplace's equation, and the largest change of each block.
extern "C" __global__ void jacobi(const float* u, float* next, float* change, int width, int height)
{
    __shared__ float largest[256];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, t = threadIdx.y * 16 + threadIdx.x;
    float difference = 0.0f;
    if (x < width && y < height) {
        int c = y * width + x;
        float v = u[c];
        if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
            v = 0.25f * (u[c - 1] + u[c + 1] + u[c - width] + u[c + width]);
        next[c] = v;
        difference = fabsf(v - u[c]);
    }
    largest[t] = difference;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) largest[t] = fmaxf(largest[t], largest[t + half]);
    }
    if (t == 0) change[blockIdx.y * gridDim.x + blockIdx.x] = largest[0];
}
