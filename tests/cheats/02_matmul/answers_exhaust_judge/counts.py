counts = {str(number) * 1000: number for number in range(9_999)}
