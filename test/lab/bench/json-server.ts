// Starts a bare JSON server, which parses the body and writes it again: the yardstick of the embedded apiserver.
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface JsonServer {
  /** Sends this object over loopback and reads it back. */
  send: (object: object) => Promise<unknown>;
  stop: () => void;
}

export async function startJsonServer(): Promise<JsonServer> {
  const server = createServer((incoming, outgoing) => {
    json(incoming)
      .then((body) => {
        outgoing.writeHead(200, { "content-type": "application/json" });
        outgoing.end(JSON.stringify(body));
      })
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { "content-type": "application/json" };
  const send = (object: object) =>
    new Promise<unknown>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, method: "PUT", agent, headers };
      const outgoing = request(options, (response) => void json(response).then(resolve, reject));
      outgoing.once("error", reject);
      outgoing.end(JSON.stringify(object));
    });
  const stop = () => {
    agent.destroy();
    server.close();
  };
  return { send, stop };
}
