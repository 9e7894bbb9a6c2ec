// %%cuda matrix_inverse
// Each thread inverts a 4x4 matrix in local arrays: Gauss-Jordan with row exchanges, in double.
struct Matrix {
    double e[4][4];

    __device__ static Matrix identity()
    {
        Matrix m;
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 4; ++j) m.e[i][j] = i == j;
        return m;
    }
    __device__ double* operator[](int row) { return e[row]; }
};

__device__ void exchange(double* a, double* b)
{
    for (int k = 0; k < 4; ++k) {
        const double keep = a[k];
        a[k] = b[k];
        b[k] = keep;
    }
}

__device__ bool invert(Matrix a, Matrix& inverse)
{
    inverse = Matrix::identity();
    for (int c = 0; c < 4; ++c) {
        int pivot = c;
        for (int r = c + 1; r < 4; ++r)
            if (fabs(a[r][c]) > fabs(a[pivot][c])) pivot = r;
        if (a[pivot][c] == 0.0) return false;
        exchange(a[c], a[pivot]);
        exchange(inverse[c], inverse[pivot]);
        for (int r = 0; r < 4; ++r) {
            if (r == c) continue;
            const double factor = a[r][c] / a[c][c];
            for (int k = 0; k < 4; ++k) {
                a[r][k] -= factor * a[c][k];
                inverse[r][k] -= factor * inverse[c][k];
            }
        }
    }
    for (int r = 0; r < 4; ++r)
        for (int k = 0; k < 4; ++k) inverse[r][k] /= a[r][r];
    return true;
}

extern "C" __global__ void invert_all(const Matrix* in, Matrix* out, int* regular, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) regular[i] = invert(in[i], out[i]);
}
