# A client of a server of lines: HOST PORT FILE FAULT. It asks for those that follow the last one.
next=0
while :; do
  if { exec 3<>"/dev/tcp/$1/$2"; } 2>/dev/null; then
    echo "$3 $next" >&3
    line=
    while IFS= read -r -t 2 line <&3 || [ "$4" = half ] && [ -n "$line" ]; do
      if [ -n "$line" ]; then
        echo "got $line"
        next=$((next + 1))
      fi
      line=
    done
    exec 3>&-
  fi
  sleep 0.1
done
