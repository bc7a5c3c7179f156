# A client of an SSE server: HOST PORT PATH FAULT. Its position moves with the end of an event, or with its id if that is the fault.
last=
while :; do
  id=$last data=
  while IFS= read -r line; do
    case $line in
    "id: "*)
      id=${line#id: }
      [ "$4" != early ] || last=$id
      ;;
    "data: "*) data=${line#data: } ;;
    "")
      [ -z "$data" ] || echo "$data"
      last=$id data=
      ;;
    esac
  done < <(curl --silent --no-buffer --connect-timeout 2 --speed-limit 1 --speed-time 3 -H "Last-Event-ID: $last" "http://$1:$2/$3")
  sleep 0.2
done
