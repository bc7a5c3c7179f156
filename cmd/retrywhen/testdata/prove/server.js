// An SSE server: each path has eight events, one each 100 ms from the first request on, and comments as heartbeats.
const http = require("http");
const began = {};
const server = http.createServer((request, response) => {
  began[request.url] ??= Date.now();
  let next = Number(request.headers["last-event-id"] ?? 0) + 1;
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.flushHeaders();
  let sent = Date.now();
  const timer = setInterval(() => {
    while (next <= 8 && Date.now() >= began[request.url] + next * 100) {
      response.write(`id: ${next}\ndata: event ${next++}\n\n`);
      sent = Date.now();
    }
    if (Date.now() - sent > 500) {
      response.write(": \n\n");
      sent = Date.now();
    }
  }, 10);
  response.on("close", () => clearInterval(timer));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
