predicted_sectors = {'shifted': 3, 'shared': 1, 'strided': 8}
