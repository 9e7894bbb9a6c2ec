// %%cuda table_of_null_pointers
// Fault, line 8: the pointers in rows are null.
extern "C" __global__ void row_sums(const float* const* rows, float* out)
{
    float sum = 0.0f;
    for (int r = 0; r < 4; ++r) {
        const float* row = rows[r];
        sum += row[threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
