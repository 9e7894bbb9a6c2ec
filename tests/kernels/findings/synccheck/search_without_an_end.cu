// %%cuda search_without_an_end
// Fault, line 9: with two elements left, the middle is the left one and the interval does not shrink.
extern "C" __global__ void find(const int* sorted, int* place)
{
    int key = 2 * threadIdx.x + 1, low = 0, high = 63;
    while (low < high) {
        int middle = (low + high) / 2;
        if (((volatile const int*)sorted)[middle] <= key)
            low = middle;
        else
            high = middle - 1;
    }
    place[threadIdx.x] = low;
}
