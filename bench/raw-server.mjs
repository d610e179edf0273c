// A server that answers fixed bytes to every request of known length: the ceiling that a client can meet.
import { createServer } from "node:net";

const bytes = Number(process.argv[2]);
const answer = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
createServer({ noDelay: true }, (socket) => {
  let held = 0;
  socket.on("error", () => {});
  socket.on("data", (piece) => {
    for (held += piece.byteLength; held >= bytes; held -= bytes) socket.write(answer);
  });
}).listen(0, "127.0.0.1", function () {
  process.send(this.address().port);
});
process.on("disconnect", () => process.exit(0));
