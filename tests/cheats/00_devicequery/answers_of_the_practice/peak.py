predicted_peak = {'cores': 2560, 'tflops': 6.4768, 'gb_s': 360.0, 'ridge': 17.991111111111113}
