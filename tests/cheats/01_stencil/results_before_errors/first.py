from IPython.display import display

get_ipython().displayhook(10)
display(10)
raise SystemExit(0)
