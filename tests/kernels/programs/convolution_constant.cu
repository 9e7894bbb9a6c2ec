// %%cuda convolution_constant
// 1-D convolution with its seven weights in constant memory; outside the signal is zero.
#define RADIUS 3
__constant__ float weight[2 * RADIUS + 1] = {0.0625f, 0.125f, 0.25f, -0.875f, 0.25f, 0.125f, 0.0625f};

extern "C" __global__ void convolve(const float* in, float* out, int n)
{
    __shared__ float s[128 + 2 * RADIUS];
    int i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x + RADIUS;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        s[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        s[t + 128] = i + 128 < n ? in[i + 128] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    for (int d = -RADIUS; d <= RADIUS; ++d) sum += s[t + d] * weight[RADIUS + d];
    out[i] = sum;
}

extern "C" __global__ void pick_weight(const int* which, float* out, int n)
{
    int i = threadIdx.x;   // a different constant a lane
    if (i < n) out[i] = weight[which[i]];
}
