import subprocess
import sys
import threading
import time

threading.Thread(target=time.sleep, args=(3600,)).start()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
