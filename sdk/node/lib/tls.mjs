// A gateway over TLS, for clients that speak nothing else.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Passes TLS connections on to a gateway, and counts those that begin with the handshake of a WebSocket. The certificate is in the folder. */
export async function openTLS(gateway, folder) {
  const cert = join(folder, "tls.pem");
  const key = join(folder, "tls.key");
  // rustls refuses an authority's certificate as a server's own.
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
  await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject]);
  const { hostname, port } = new URL(gateway.url);
  const opened = { cert, connections: 0, sockets: 0 };
  opened.server = createServer({ cert: await readFile(cert), key: await readFile(key) }, (from) => {
    opened.connections++;
    const to = connect(Number(port), hostname);
    from.once("data", (head) => { if (/^upgrade: *websocket/im.test(head.toString("latin1"))) opened.sockets++; });
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) socket.on("error", () => {}).on("close", () => (from.destroy(), to.destroy()));
  });
  await new Promise((resolve) => opened.server.listen(0, "127.0.0.1", resolve));
  opened.url = `https://localhost:${opened.server.address().port}`;
  return opened;
}
