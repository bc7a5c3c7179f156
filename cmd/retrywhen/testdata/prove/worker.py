# A worker of a tube of beanstalkd: HOST PORT TUBE FAULT. It deletes a job when it has printed it, with the fault "early"
# before it has read it; with "short" it takes what one read returns for all.
import socket, sys, time

host, port, tube, fault = sys.argv[1:]


def work(s, replies):
    def reply():
        line = replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the reply has no end")
        return line.split()

    s.sendall(f"watch {tube}\r\n".encode())
    reply()
    while True:
        s.sendall(b"reserve-with-timeout 1\r\n")
        what, *rest = reply()
        if what != b"RESERVED":
            continue
        delete, size = b"delete " + rest[0] + b"\r\n", int(rest[1]) + 2
        if fault == "early":
            s.sendall(delete)
        job = replies.read(size)
        if fault != "short" and len(job) < size:
            raise ConnectionError("the job has no end")
        print(job.decode().strip(), flush=True)
        if fault != "early":
            s.sendall(delete)
        reply()


while True:
    try:
        with socket.create_connection((host, int(port)), timeout=3) as s:
            with s.makefile("rb", buffering=0 if fault == "short" else -1) as replies:
                work(s, replies)
    except OSError:
        pass
    time.sleep(0.2)
