// %%cuda black_scholes
// European call and put prices in float: expf, logf, sqrtf, fabsf and a polynomial for the normal distribution.
__device__ __forceinline__ float cumulative_normal(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float c[5] = {1.330274429f, -1.821255978f, 1.781477937f, -0.356563782f, 0.31938153f};
    float poly = 0.0f;
    for (int n = 0; n < 5; ++n) poly = k * (c[n] + poly);
    const float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* spot, const float* strike, const float* years,
                                         float rate, float volatility, float* call, float* put, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = spot[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2), discount = expf(-rate * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}
