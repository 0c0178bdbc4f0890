/dev/fd/3: line 68: ./lim: No such file or directory
