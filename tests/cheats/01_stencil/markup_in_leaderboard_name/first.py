LEADERBOARD_NAME = "<img src=x onerror=alert(1)>"
