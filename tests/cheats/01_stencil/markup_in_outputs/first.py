from IPython.display import HTML, Javascript, Markdown, display

display(HTML("<script>alert(1)</script><img src=x onerror=alert(1)><iframe srcdoc='<script>1</script>'></iframe>"))
display(Javascript("alert(1)"), Markdown("[x](javascript:alert(1)) <img src=x onerror=alert(1)>"))
display({"text/html": "<svg onload=alert(1)>", "application/javascript": "alert(1)"}, raw=True)
