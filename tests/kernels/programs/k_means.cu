// %%cuda k_means
// A step of k-means: the nearest centre of each point, and the sums of each cluster by atomics in shared memory.
#define CLUSTERS 5
struct Point {
    float x, y, z;
    __device__ Point operator-(const Point& o) const { return {x - o.x, y - o.y, z - o.z}; }
    __device__ float dot(const Point& o) const { return x * o.x + y * o.y + z * o.z; }
};

__device__ void add(Point& sum, const Point& p)
{
    atomicAdd(&sum.x, p.x);
    atomicAdd(&sum.y, p.y);
    atomicAdd(&sum.z, p.z);
}

extern "C" __global__ void assign(const Point* points, const Point* centre, int* nearest, Point* sum, int* size, int n)
{
    __shared__ Point block_sum[CLUSTERS];
    __shared__ int block_size[CLUSTERS];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < CLUSTERS) {
        block_sum[t] = Point{0.0f, 0.0f, 0.0f};
        block_size[t] = 0;
    }
    __syncthreads();
    if (i < n) {
        int best = 0;
        float least = __int_as_float(0x7f800000);   // infinity
        for (int k = 0; k < CLUSTERS; ++k) {
            const Point d = points[i] - centre[k];
            if (d.dot(d) < least) {
                least = d.dot(d);
                best = k;
            }
        }
        nearest[i] = best;
        add(block_sum[best], points[i]);
        atomicAdd(&block_size[best], 1);
    }
    __syncthreads();
    if (t < CLUSTERS) {
        add(sum[t], block_sum[t]);
        atomicAdd(&size[t], block_size[t]);
    }
}
