// Relays between machines and a Worker on loopback. The relay counts bytes, and cuts connections like a lost
// network: no data arrives, and neither side gets an end.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Relay {
  /** The relay's URL in front of the Worker, `http://…`. */
  url: string;
  /** Sets the Worker that the relay connects to; no data arrives before this call. */
  leadTo: (workerUrl: string) => void;
  /** Returns the number of bytes in both directions since the last call. */
  takeBytes: () => number;
  cutOff: () => void;
  stop: () => void;
}

export async function startRelay(): Promise<Relay> {
  const target = Promise.withResolvers<number>();
  const sockets = new Set<Socket>();
  let bytes = 0;
  let isCut = false;
  const pass = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.setNoDelay();
    from.on("data", (chunk: Buffer) => {
      if (isCut) return;
      bytes += chunk.length;
      to.write(chunk);
    });
    from.on("close", () => {
      sockets.delete(from);
      if (!isCut) to.destroy();
    });
    from.on("error", () => from.destroy());
  };
  const server = createServer((incoming) => {
    incoming.pause();
    void target.promise.then((port) => {
      const outgoing = connect(port, "127.0.0.1");
      pass(incoming, outgoing);
      pass(outgoing, incoming);
      incoming.resume();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (workerUrl) => target.resolve(Number(new URL(workerUrl).port)),
    takeBytes: () => {
      const taken = bytes;
      bytes = 0;
      return taken;
    },
    cutOff: () => void (isCut = true),
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
