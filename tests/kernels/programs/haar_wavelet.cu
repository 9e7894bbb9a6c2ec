// %%cuda haar_wavelet
// The Haar wavelet of blocks of 256 values: averages halve in number each level, details stay; and the way back.
#define N 256
__constant__ float ROOT_HALF = 0.70710678f;

extern "C" __global__ void forward(const float* signal, float* coefficient, int levels)
{
    __shared__ float s[N];
    const int t = threadIdx.x;   // N / 2 threads
    const float* in = signal + blockIdx.x * N;
    float* out = coefficient + blockIdx.x * N;
    reinterpret_cast<float2*>(s)[t] = reinterpret_cast<const float2*>(in)[t];
    int half = N / 2;
    for (int level = 0; level < levels; ++level, half /= 2) {
        float a = 0.0f, b = 0.0f;
        __syncthreads();
        if (t < half) {
            a = s[2 * t];
            b = s[2 * t + 1];
        }
        __syncthreads();
        if (t < half) {
            s[t] = (a + b) * ROOT_HALF;
            out[half + t] = (a - b) * ROOT_HALF;
        }
    }
    __syncthreads();
    for (int k = t; k < N >> levels; k += N / 2) out[k] = s[k];
}

extern "C" __global__ void inverse(const float* coefficient, float* signal, int levels)
{
    __shared__ float s[2][N];
    const int t = threadIdx.x;
    const float* in = coefficient + blockIdx.x * N;
    int half = N >> levels, from = 0;
    for (int k = t; k < half; k += N / 2) s[0][k] = in[k];
    for (; half < N; half *= 2, from ^= 1) {
        __syncthreads();
        if (t < half) {
            const float average = s[from][t], detail = in[half + t];
            s[from ^ 1][2 * t] = (average + detail) * ROOT_HALF;
            s[from ^ 1][2 * t + 1] = (average - detail) * ROOT_HALF;
        }
    }
    __syncthreads();
    reinterpret_cast<float2*>(signal + blockIdx.x * N)[t] = reinterpret_cast<float2*>(s[from])[t];
}
