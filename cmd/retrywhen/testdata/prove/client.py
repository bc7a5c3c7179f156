# An SSE client: HOST, PORT, PATH, and "early" if it stores an event's id before the event is complete.
import http.client, sys, time

host, port, path, early = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] == "early"
last = None
while True:
    try:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        connection.request("GET", "/" + path, headers={"Last-Event-ID": last} if last else {})
        response = connection.getresponse()
        seen, data = last, None
        while line := response.readline():
            if not line.endswith(b"\n"):
                break
            text = line.decode().rstrip("\n")
            if text.startswith("id: "):
                seen = text[4:]
                if early:
                    last = seen
            elif text.startswith("data: "):
                data = text[6:]
            elif text == "" and data is not None:
                print(data)
                last, data = seen, None
    except (OSError, http.client.HTTPException) as e:
        print("retrying:", e, file=sys.stderr)
    time.sleep(0.2)
