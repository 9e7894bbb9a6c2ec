// %%cuda outer.plane --block 64 3
__global__ void outer(float* table, const float* row, const float* column, int nx, int ny)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    auto inside = [=](unsigned i, int end) { return i < (unsigned)end; };
    if (!inside(x, nx) || !inside(y, ny)) return;
    float (*line)[1] = (float (*)[1])(table + (size_t)y * nx);
    line[x][0] = __ldg(column + y) * __ldg(row + x);
}
