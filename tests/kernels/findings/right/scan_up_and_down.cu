// %%cuda scan_up_and_down
// An up-sweep builds a tree of sums, a down-sweep turns it into the sums before each element.
extern "C" __global__ void scan(const int* x, int* out, int n)
{
    extern __shared__ int s[];
    int t = threadIdx.x, step = 1;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    for (int pairs = n / 2; pairs > 0; pairs /= 2, step *= 2) {
        __syncthreads();
        if (t < pairs) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int pairs = 1; pairs < n; pairs *= 2) {
        step /= 2;
        __syncthreads();
        if (t < pairs) {
            int left = step * (2 * t + 1) - 1, right = step * (2 * t + 2) - 1, old = s[left];
            s[left] = s[right];
            s[right] += old;
        }
    }
    __syncthreads();
    out[2 * t] = s[2 * t];
    out[2 * t + 1] = s[2 * t + 1];
}
