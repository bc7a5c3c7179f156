# A client of a server of lines: HOST PORT FILE FAULT. It asks for those that follow the last one.
import socket, sys, time

host, port, name, fault = sys.argv[1:]
position = 0
while True:
    try:
        with socket.create_connection((host, int(port)), timeout=None if fault == "deaf" else 2) as s:
            s.sendall(f"{name} {position}\n".encode())
            for line in s.makefile("rb"):
                if not line.endswith(b"\n"):
                    break
                if line.strip():
                    print("got", line.decode().strip())
                    position += 1
    except OSError:
        pass
    time.sleep(0.1)
